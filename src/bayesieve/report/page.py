"""`Figure` and `Report`: charts with their data, and the self-contained HTML pages around them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from bayesieve import words
from bayesieve.report.charts import FOLDER, SCHEMA, Spec, drawable, text, theme
from bayesieve.report.tables import PrintedTable
from bayesieve.table.frames import results_frame
from bayesieve.table.paths import checked_path
from bayesieve.table.writing import HTML, check_html, write_atomically

if TYPE_CHECKING:
    import jinja2

_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_FRACTION = re.compile(r"\d+\.\d+(?:e-\d+)?")
_NUMBERED = re.compile(r'(?:(?<=url\(#)|(?<=id="))(clip|gradient_)\d+(?=["\)])')


@dataclass(frozen=True)
class Figure:
    """Chart with its title, caption and data.

    Notebooks show it, even offline.

    Attributes
    ----------
    title, caption : str
        Texts above the chart.
    chart : dict
        Vega-Lite specification without data; an empty one means that there is nothing to draw.
    frames : mapping from names to mappings from columns to lists
        Tables that the layers draw. The first one is also shown as a table.
    heads : mapping from columns to titles
        Columns of the table to show, with their titles; empty means all columns.

    Examples
    --------
    >>> from bayesieve.report.charts import chart, layer, number
    >>> drawn = chart(layer("point", x=number("x", "seconds"), y=number("y", "rows")))
    >>> figure = Figure("Rows by time", "", drawn, {"rows": {"x": [1.0, 2.0], "y": [3, 4]}})
    >>> figure.spec["datasets"]
    {'rows': [{'x': 1.0, 'y': 3}, {'x': 2.0, 'y': 4}]}
    """

    title: str
    caption: str
    chart: Spec
    frames: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> Spec:
        """Complete Vega-Lite specification as a dict, with data, title and the light theme."""
        title = {"text": self.title, "subtitle": textwrap.wrap(self.caption, 110), "fontSize": 18, "offset": 14}
        whole = {"$schema": SCHEMA, "description": f"{self.title}. {self.caption}", "title": title}
        drawn = self.chart or {"mark": {"type": "text", "text": "There is nothing to draw."}}
        return whole | drawn | {"datasets": self.datasets(), "data": {"name": self.main}, "config": theme()}

    @property
    def main(self) -> str:
        """Name of the frame that layers draw unless they name another one."""
        return next(iter(self.frames), "rows")

    def datasets(self) -> dict[str, list[dict[str, Any]]]:
        """Return each frame as a list of dicts, one per row; numbers that are not finite become None."""
        return {name: results_frame(frame).to_dicts() for name, frame in plain(self.frames).items()}

    @property
    def data(self) -> Any:
        """Data of the figure's first frame as a polars dataframe."""
        return results_frame(self.frames.get(self.main, {}))

    def table(self) -> PrintedTable:
        """Return the first rows of the data as a table of texts, to print below the chart."""
        frame = self.frames.get(self.main, {})
        return PrintedTable.of_frame(frame, self.heads or {name: name.replace("_", " ") for name in frame}, self.title)

    def to_html(self) -> str:
        """Return a self-contained HTML page with the chart, in light and dark colours, and its numbers as a table."""
        return page("figure.html", {"figure": self}, title=self.title, figure=self)

    def to_svg(self) -> str:
        """Return the figure as SVG text. Raise ImportError if vl-convert-python is not installed."""
        svg: str = self._converter().vegalite_to_svg(self._as_text())
        # Round coordinates: their last digits differ between machines, and equal figures should give equal files.
        svg = _PLACES.sub(lambda place: _FRACTION.sub(_in_thousandths, place[0]), svg)
        number: dict[str, int] = {}  # the library numbers them per process; number them per figure
        return _NUMBERED.sub(lambda match: f"{match[1]}{number.setdefault(match[0], len(number) + 1)}", svg)

    def to_altair(self) -> Any:
        """Return the figure as an `altair.Chart`. Raise ImportError if Altair is not installed."""
        import altair

        return altair.Chart.from_dict(self.spec)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to a file, in the format given by the ending of its name.

        The format is a page (``.html``), a picture (``.svg`` or ``.png``; needs ``pip install vl-convert-python``) or
        the specification (``.json``). An existing file is only replaced once the new one is complete.

        Raises
        ------
        ValueError
            If the name has another ending, or the file cannot be written.
        ImportError
            If the format is a picture and vl-convert-python is not installed.
        FileNotFoundError
            If the folder does not exist.
        """
        suffix = checked_path(path).suffix.lower()
        writers: dict[str, Callable[[], str | bytes]] = {
            ".json": lambda: self._as_text(indent=1),
            ".svg": self.to_svg,
            ".png": lambda: self._converter().vegalite_to_png(self._as_text(), scale=2),
        } | dict.fromkeys(HTML, self.to_html)
        if suffix not in writers:
            raise ValueError(f"A figure can be saved as .html, .svg, .png or .json, got {path}; change the extension.")
        write_atomically(path, writers[suffix]())

    def _as_text(self, indent: int | None = None) -> str:
        """Return the specification as JSON text. Lone surrogates, which UTF-8 cannot store, are replaced."""
        return words.printable(json.dumps(self.spec, indent=indent, ensure_ascii=False))

    @staticmethod
    def _converter() -> Any:
        """Return the module vl_convert, which draws pictures. Raise ImportError if it is not installed."""
        try:
            import vl_convert
        except ImportError as error:
            raise ImportError("Pictures need vl-convert-python: pip install vl-convert-python.") from error
        return vl_convert

    def _repr_html_(self) -> str:
        return str(self._repr_mimebundle_()["text/html"])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown, picture = {"text/plain": repr(self)}, ""
        with suppress(ImportError):
            shown["image/svg+xml"] = self.to_svg()
            picture = base64.b64encode(shown["image/svg+xml"].encode()).decode()
        still = fill("still.html", figure=self, table=self.table(), picture=picture)
        return shown | {"text/html": framed(self.to_html(), still)}

    def __repr__(self) -> str:
        return f"<Figure: {self.title}. {self.caption}>"


def in_five_digits(values: Any) -> Any:
    """Return nested lists with their numbers rounded to five digits, for numbers that are shown but not used in sums.

    Examples
    --------
    >>> in_five_digits([(0.1234567,), 2.0])
    [[0.12346], 2.0]
    """
    return [*map(in_five_digits, values)] if isinstance(values, (list, tuple)) else float(f"{values:.5g}")


@dataclass(frozen=True)
class Report:
    """HTML page about a model. Notebooks show it, even offline; ``save(path)`` writes it to a file.

    Attributes
    ----------
    html : str
        The whole document.
    performance : Performance or None
        Performance measures printed on the page; None if the model was not measured.
    """

    html: str
    performance: Any = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file whose name ends in ``.html`` or ``.htm``. An existing file is only replaced once the
        new one is complete.
        """
        check_html(path)
        write_atomically(path, self.html)

    def _repr_html_(self) -> str:
        return framed(self.html, f"<p>{html.escape(repr(self))}</p>")

    def __repr__(self) -> str:
        return f"<Report of {len(self.html):,} characters; save it as .html>"


def framed(document: str, still: str) -> str:
    """Return HTML that embeds a document in a notebook as an iframe.

    Notebooks that are not trusted remove iframes and styles. They then show ``still``, HTML without scripts.
    """
    frame = f'<iframe srcdoc="{html.escape(document)}" style="width:100%;height:38rem;border:0"></iframe>'
    return f'{frame}<style>.bayesieve-still{{display:none}}</style><div class="bayesieve-still">{still}</div>'


def page(
    template: str,
    drawn: Mapping[str, Any],
    /,
    *,
    script: str | Sequence[str] = (),
    program: str = "",
    more: Any = None,
    **context: Any,
) -> str:
    """Return a self-contained HTML document with charts.

    Styles, scripts, charts and data are embedded, partly compressed. The content security policy allows these styles
    and scripts by their hashes and forbids everything else, including any request.

    Parameters
    ----------
    template : name of a template that extends ``page.html``, or ``"package:name"`` for one of another package; charts
        are drawn in its elements with the attribute ``data-chart``.
    drawn : mapping from names to figures; the template reads it as ``charts``.
    script : names of further script files to embed.
    program : source of a script that was generated from the data.
    more : plain data that the scripts read.
    context : variables of the template.
    """
    charts = {
        name: {"spec": one.chart, "frames": one.frames, "main": one.main, "label": one.title}
        for name, one in drawn.items()
    }
    data = {"charts": charts, "more": more, "program": program}
    data["themes"] = [theme() | {"background": None}, theme(dark=True) | {"background": None}]
    content = json.dumps(plain(data), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    scripts = "".join(map(text, ("page.js", *([script] if isinstance(script, str) else script))))
    style = text("page.css")
    return fill(
        template,
        charts=drawn,
        style=style,
        style_hash=policy_hash(style),
        scripts=scripts,
        script_hash=policy_hash(scripts),
        bundle=_packed_bundle()[0],
        bundle_hash=_packed_bundle()[1],
        program_hash=policy_hash(program),
        data_packed=base64.b64encode(gzip.compress(content, mtime=0)).decode(),
        written=words.local_now(),
        **context,
    )


def plain(value: Any) -> Any:
    """Convert nested values to plain JSON values; numbers that are infinite, NaN or too large to draw become None.

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
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    return {name: plain(one) for name, one in value.items()} if isinstance(value, Mapping) else value


def fill(name: str, **context: Any) -> str:
    """Return the template with the given name, filled with the values in ``context``. Texts are escaped for HTML,
    except in templates whose name ends in ``.txt``.
    """
    return words.printable(_environment().get_template(name).render(**context))


@cache
def _packed_bundle() -> tuple[str, str]:
    """Return the JavaScript library that draws charts as compressed base64 text, and the hash by which the content
    security policy of a page allows it.
    """
    packed = FOLDER.joinpath("bundle", "charts.js.gz").read_bytes()
    return base64.b64encode(packed).decode(), policy_hash(gzip.decompress(packed).decode())


def _in_thousandths(digits: re.Match[str]) -> str:
    """Return the number that a regular expression has matched, rounded to three decimals, as text."""
    return str(round(round(float(digits[0]), 9), 3)).removesuffix(
        ".0"
    )  # rounded twice, so that rounding of halves does not depend on the last digit


def policy_hash(text: str) -> str:
    """Return the SHA-256 hash, in base64, by which a content security policy allows a style or script."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _environment() -> jinja2.Environment:
    """Return the Jinja environment of all templates, with its filters."""
    import jinja2

    from bayesieve.version import __version__

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(text),
        autoescape=lambda name: not str(name).endswith(".txt"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["version"] = __version__
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
