"""Strict reading of the HTML under test."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    path: tuple[str, ...] = field(default_factory=tuple)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[Element] = []
        self.elements: list[Element] = []
        self.errors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.errors.append(f"<{tag}> repeats an attribute at {self.getpos()}")
        element = Element(tag, {k: v or "" for k, v in attrs}, path=tuple(e.tag for e in self.open))
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1].tag != tag:
            self.errors.append(
                f"</{tag}> at {self.getpos()} does not close {self.open[-1].tag if self.open else 'anything'}"
            )
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def read(html: str) -> list[Element]:
    """All elements of a document; fails on tags that are not balanced."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.errors, reader.errors[:5]
    assert not reader.open, [e.tag for e in reader.open]
    return reader.elements


def drawings(html: str) -> list[ElementTree.Element]:
    """The inline SVG drawings, read as XML."""
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)]


def texts(elements: list[Element], tag: str, class_: str | None = None) -> list[str]:
    """Texts of the elements with a tag, and a class if given, spaces collapsed."""
    wanted = (
        e for e in elements if e.tag == tag and (class_ is None or class_ in e.attributes.get("class", "").split())
    )
    return [" ".join(e.text.split()) for e in wanted]


def inside(svg: ElementTree.Element) -> None:
    """Everything lies in the view box, moved groups too."""
    _, _, width, height = map(float, svg.attrib["viewBox"].split())

    def check(element: ElementTree.Element, down: float) -> None:
        at = element.attrib
        moved = re.match(r"translate\(0 ([\d.]+)\)", at.get("transform", ""))
        down += float(moved[1]) if moved else 0.0
        points = [pair.split(",") for pair in at.get("points", "").split()]
        places = [*(at[key] for key in ("x", "x1", "x2", "cx") if key in at), *(x for x, _ in points)]
        heights = [*(at[key] for key in ("y", "y1", "y2", "cy") if key in at), *(y for _, y in points)]
        assert all(0 <= float(x) <= width for x in places)
        assert all(0 <= float(y) + down <= height for y in heights)
        if "width" in at and "x" in at:
            assert float(at["x"]) + float(at["width"]) <= width + 0.01
        for child in element:
            check(child, down)

    check(svg, 0.0)
