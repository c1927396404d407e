"""Strict reading of the HTML under test."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

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


def payload(html: str) -> dict[str, Any]:
    """The charts and the data that the scripts of a page read."""
    (packed,) = re.findall(r'<script type="text/plain" id="page-data">(.*?)</script>', html)
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return data


def texts(elements: list[Element], tag: str, class_: str | None = None) -> list[str]:
    """Texts of the elements with a tag, and a class if given, spaces collapsed."""
    wanted = (
        e for e in elements if e.tag == tag and (class_ is None or class_ in e.attributes.get("class", "").split())
    )
    return [" ".join(e.text.split()) for e in wanted]
