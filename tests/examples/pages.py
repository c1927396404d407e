"""The pages of the documentation as code, and packages that add to the library, as pip installs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def blocks(page: str, kinds: str = "python") -> list[str]:
    """The code of a page in docs, or of the README."""
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    return re.findall(rf"^```{kinds}\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)


def names_of(page: str) -> dict[str, Any]:
    """What is defined once all code of a page has run."""
    names: dict[str, Any] = {"__name__": __name__}  # dataclasses look their module up
    exec(compile("\n".join(blocks(page)), page, "exec"), names)
    return names


def shown(page: str) -> list[str]:
    """The lines that a page says are printed."""
    return re.findall(r"#> (.*)", "\n".join(blocks(page)))


def install(folder: Path, sources: dict[str, str], entry_points: str) -> None:
    """A package as pip leaves it: modules, and the metadata next to them."""
    folder.mkdir(exist_ok=True)
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    info = folder / "other_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
