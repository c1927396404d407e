"""Figures drawn in pixels by their own template, in the frame of all figures."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from bayesieve.report.figure import WIDTH, Figure
from bayesieve.report.render import fill, page_style

_CAPTION_WIDTH = 140  # characters per line


@dataclass(frozen=True)
class PictureFigure(Figure):
    """A `Figure` of any drawing.

    Attributes
    ----------
    picture : positions in pixels, from the upper left corner, with its ``height``.
    parts : template whose macro ``draw(picture)`` draws it.
    """

    picture: Any = None
    parts: str = ""

    def to_html(self) -> str:
        """One HTML document that is self-contained, in light and dark, with the numbers as a table."""
        return fill("picture.html", figure=self, style=page_style(), width=WIDTH)

    def _svg(self, *, standalone: bool) -> str:
        caption = textwrap.wrap(self.caption, _CAPTION_WIDTH)
        top = 58 + 17 * len(caption)
        return fill(
            "picture.svg",
            figure=self,
            standalone=standalone,
            caption=caption,
            top=top,
            width=WIDTH,
            height=top + self.picture.height,
        )
