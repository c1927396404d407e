"""Pictures of the gallery: every new `Figure` of a script, drawn as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from bayesieve.report import Figure

_FIRST = (
    *("levels", "groups", "monotone", "pair", "surface", "weights", "importance"),
    *("explanation", "points", "exports", "decisions", "gains", "reliability", "drift", "scan"),
    *("path", "redundancy", "clusters", "stability", "comparison", "ranks"),
)


class Order:
    """The scripts in the order of a first reading; others follow by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        own = Path(name).stem.removeprefix("plot_")
        return (_FIRST.index(own) if own in _FIRST else len(_FIRST), own)


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **kwargs: Any) -> str:
    """Save the figures that a block of a script has made, and return the text that shows them."""
    seen = block_vars.setdefault("figures", {})
    paths = []
    for value in block_vars["example_globals"].values():
        if isinstance(value, Figure) and id(value) not in seen:
            seen[id(value)] = value  # kept, so that no other object gets its id
            path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
            path.write_text(value.to_svg(), encoding="utf-8")
            paths.append(str(path))
    return figure_rst(paths, gallery_conf["src_dir"])


def _get_sg_image_scraper() -> Any:
    """How sphinx-gallery finds the scraper by the name of this module."""
    return scrape
