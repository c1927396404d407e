"""`Figure`: a chart as a specification with its data, for pages, notebooks, pictures and other programs."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayesieve.report.charts import SCHEMA, Spec, theme
from bayesieve.report.page import framed, page, plain
from bayesieve.table.frames import polars_frame
from bayesieve.table.reading import checked_path
from bayesieve.table.writing import HTML, write_atomically
from bayesieve.words import format_number, not_blank, p_text, shorten

_PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
_LONG = re.compile(r"\d+\.\d{9,}")
_NUMBERED = re.compile(r'(?:(?<=url\(#)|(?<=id="))(clip|gradient_)\d+(?=["\)])')
_MOST_LINES = 200  # of a table below a figure; `data` holds all


@dataclass(frozen=True)
class Figure:
    """A chart with its title, caption and data.

    Notebooks show it, also offline.

    Attributes
    ----------
    title, caption : str
    chart : dict
        Vega-Lite without data; an empty one has nothing to draw.
    frames : mapping from names to mappings from columns to lists
        What the layers draw; the first is shown as a table, too.
    heads : mapping
        The columns of the table, and their titles; by default all.

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
        """The whole specification as a Vega-Lite dictionary, with data, title and the light theme."""
        title = {"text": self.title, "subtitle": textwrap.wrap(self.caption, 110), "fontSize": 18, "offset": 14}
        whole = {"$schema": SCHEMA, "description": f"{self.title}. {self.caption}", "title": title}
        drawn = self.chart or {"mark": {"type": "text", "text": "There is nothing to draw."}}
        return whole | drawn | {"datasets": self.datasets(), "data": {"name": self.main}, "config": theme()}

    @property
    def main(self) -> str:
        """The name of the frame that layers draw by default."""
        return next(iter(self.frames), "rows")

    def datasets(self) -> dict[str, list[dict[str, Any]]]:
        """The frames as rows of plain values; numbers that are not finite become None."""
        return {name: polars_frame(frame).to_dicts() for name, frame in plain(self.frames).items()}

    @property
    def data(self) -> Any:
        """The rows behind the figure, as a polars dataframe."""
        return polars_frame(self.frames.get(self.main, {}))

    def table(self) -> dict[str, Any]:
        """The data as a table of texts: heads, whether each is a column of numbers, rows, and the number of all."""
        frame = self.frames.get(self.main, {})
        heads = self.heads or {name: name.replace("_", " ") for name in frame}
        columns = [[cell_text(value, name) for value in frame[name][:_MOST_LINES]] for name in heads]
        numbers = [any(isinstance(value, int | float) for value in frame[name]) for name in heads]
        n_rows = len(next(iter(frame.values()), ()))
        rows = list(zip(*columns, strict=True))
        return {"heads": list(heads.values()), "numbers": numbers, "rows": rows, "n_rows": n_rows}

    def payload(self) -> dict[str, Any]:
        """What a page needs to draw the figure."""
        return {"spec": self.chart, "frames": self.frames, "main": self.main, "label": self.title}

    def to_html(self) -> str:
        """One HTML document that is self-contained, in light and dark, with the numbers as a table."""
        return page("figure.html", {"figure": self}, title=self.title, figure=self)

    def to_svg(self) -> str:
        """A picture as SVG; ImportError without vl-convert-python."""
        svg: str = self._converter().vegalite_to_svg(self.spec)
        # The last digits differ between machines.
        svg = _PLACES.sub(lambda place: _LONG.sub(lambda digits: f"{float(digits[0]):.3f}", place[0]), svg)
        number: dict[str, int] = {}  # parts are numbered by process otherwise
        return _NUMBERED.sub(lambda part: f"{part[1]}{number.setdefault(part[0], len(number) + 1)}", svg)

    def to_altair(self) -> Any:
        """The figure as an `altair.Chart`; ImportError without Altair."""
        import altair

        return altair.Chart.from_dict(self.spec)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure atomically, as the end of the name says: a page (``.html``), a picture (``.svg``, ``.png``;
        needs ``pip install vl-convert-python``) or the specification (``.json``).

        Raises
        ------
        ValueError
            If the name ends otherwise, or the file cannot be written.
        ImportError
            If a picture is wanted and vl-convert-python is not installed.
        FileNotFoundError
            If the folder does not exist.
        """
        suffix = checked_path(path).suffix.lower()
        made: dict[str, Callable[[], str | bytes]] = {
            ".json": lambda: json.dumps(self.spec, indent=1, ensure_ascii=False),
            ".svg": self.to_svg,
            ".png": lambda: self._converter().vegalite_to_png(self.spec, scale=2),
        } | dict.fromkeys(HTML, self.to_html)
        if suffix not in made:
            raise ValueError(
                f"A figure is saved as .html, .svg, .png or .json, got {os.fspath(path)!r}; change the extension."
            )
        write_atomically(path, made[suffix]())

    @staticmethod
    def _converter() -> Any:
        try:
            import vl_convert
        except ImportError as error:
            raise ImportError("Pictures need vl-convert-python: pip install vl-convert-python.") from error
        return vl_convert

    def _repr_html_(self) -> str:
        return framed(self.to_html())

    def __repr__(self) -> str:
        return f"<Figure: {self.title}. {self.caption}>"


def few_digits(values: Any) -> Any:
    """Nested numbers that only inform, in five digits.

    Examples
    --------
    >>> few_digits([(0.1234567,), 2.0])
    [[0.12346], 2.0]
    """
    return [*map(few_digits, values)] if isinstance(values, (list, tuple)) else float(f"{values:.5g}")


def cell_text(value: Any, column: str = "") -> str:
    """A value of a frame for a table."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return p_text(value).removeprefix("p ") if column.startswith("p_") else format_number(value, digits_of(value))
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else shorten(not_blank(str(value)), 80)


def digits_of(value: float) -> int:
    """Decimals that suit a number in a table."""
    return 4 if abs(value) < 10 else 0 if float(value).is_integer() else 1
