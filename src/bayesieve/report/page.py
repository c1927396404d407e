"""Pages: templates filled with data, and the charts and scripts inside, so that a page needs nothing but itself."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from bayesieve import words
from bayesieve.report.charts import drawable, text, theme
from bayesieve.table.writing import check_html, write_atomically

if TYPE_CHECKING:
    import jinja2


@dataclass(frozen=True)
class Report:
    """A page that notebooks show, also without a network; ``save(path)`` writes it.

    Attributes
    ----------
    html : the whole document
    performance : the figures on it, or None
    """

    html: str
    performance: Any = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all; its name ends in ``.html`` or ``.htm``."""
        check_html(path)
        write_atomically(path, self.html)

    def _repr_html_(self) -> str:
        return framed(self.html)

    def __repr__(self) -> str:
        return f"<Report of {len(self.html):,} characters; save it as .html>"


def framed(document: str, height: str = "38rem") -> str:
    """A whole document inside another, as notebooks show it."""
    return f'<iframe srcdoc="{html.escape(document)}" style="width:100%;height:{height};border:0"></iframe>'


def page(
    template: str, drawn: Mapping[str, Any], /, *, script: str = "", program: str = "", more: Any = None, **context: Any
) -> str:
    """One HTML document with its charts.

    Styles, scripts, charts and data are inside, compressed. A content security policy allows the styles and scripts of
    the page by their hashes and forbids everything else, also any request.

    Parameters
    ----------
    template : one that extends ``page.html``; elements with ``data-chart`` are where charts are drawn.
    drawn : mapping from their names to `Figure`; the template knows it as ``charts``
    script : further script of this kind of page.
    program : script that comes with the data.
    more : plain data that it reads.
    context : what the template needs.
    """
    from bayesieve.version import __version__

    data = {"charts": {name: one.payload() for name, one in drawn.items()}, "more": more, "program": program}
    data["themes"] = [theme() | {"background": None}, theme(dark=True) | {"background": None}]
    scripts = text("page.js") + (text(script) if script else "")
    style = text("page.css")
    return fill(
        template,
        charts=drawn,
        style=style,
        style_hash=_hash(style),
        scripts=scripts,
        script_hash=_hash(scripts),
        bundle=_packed_bundle()[0],
        bundle_hash=_packed_bundle()[1],
        program_hash=_hash(program),
        data_packed=_packed(
            json.dumps(plain(data), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        ),
        version=__version__,
        written=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        **context,
    )


def _as_json(data: Any) -> bytes:
    return json.dumps(plain(data), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def plain(value: Any) -> Any:
    """Values as JSON knows them: numbers that have no place on an axis become None.

    Examples
    --------
    >>> plain({"x": (1.5, float("nan"))})
    {'x': [1.5, None]}
    """
    if isinstance(value, float):
        return value if drawable(value) else None
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: plain(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def fill(name: str, **context: Any) -> str:
    """A template filled; every text is escaped, but in ``.txt``."""
    return words.printable(_environment().get_template(name).render(**context))


@cache
def _packed_bundle() -> tuple[str, str]:
    """The scripts that draw charts, and their hash."""
    packed = resources.files("bayesieve.report").joinpath("bundle", "charts.js.gz").read_bytes()
    return base64.b64encode(packed).decode(), _hash(gzip.decompress(packed).decode())


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(text),
        autoescape=lambda name: not str(name).endswith(".txt"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        width=lambda value, whole: round(100 * min(max(value / whole, 0.0), 1.0), 1) if whole > 0 else 0,
        number=words.format_number,
        count=words.format_count,
        percent=words.format_percent,
        signed=words.format_signed,
        seconds=words.format_seconds,
        plural=words.plural,
        shorten=words.shorten,
        visible=words.not_blank,
        money=words.format_money,
        p_value=words.p_text,
    )
    return environment
