"""Links between the Markdown pages of the repository, as links of the site.

Pages in docs stay where they are. Pages elsewhere are copied to docs/generated first. A link to a page becomes one to
its place in the site. A link to any other file leads to the repository if pyproject.toml names its address, and is
plain text otherwise.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = DOCS / "generated"

_CODE = r"^ *(?P<fence>`{3,}|~{3,}).*?^ *(?P=fence) *$|(?<!`)`[^`\n]+`(?!`)"
_TEXT_OF_A_LINK = r"(?P<words>(?:[^\[\]]|\[[^\[\]]*\])*)"
_LINK = re.compile(
    rf"(?P<picture>!?)\[{_TEXT_OF_A_LINK}\]\((?P<target>[^()\s#:]*)(?P<anchor>#[^()\s]*)?\)|{_CODE}", re.M | re.S
)
_places: dict[str, str] = {}  # pages of the repository outside docs -> their names in the site


def stage(pages: Mapping[str, str], folders: Mapping[str, str]) -> list[str]:
    """Copy pages, and those of folders, with their pictures to docs/generated; the names that they have in the site."""
    _places.update({page: f"generated/{name}" for page, name in pages.items()})
    for folder, name in folders.items():
        for path in sorted((ROOT / folder).glob("*.md")):
            _places[f"{folder}/{path.name}"] = f"generated/{name}/{path.stem}"
        for picture in (ROOT / folder).glob("*.svg"):
            _copy(picture, GENERATED / name / picture.name)
    for page, name in _places.items():
        _copy(ROOT / page, DOCS / f"{name}.md")
    return list(_places.values())


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if not to.exists() or to.read_bytes() != path.read_bytes():  # unchanged pages are not read again
        shutil.copyfile(path, to)


def address(root: Path = ROOT) -> str | None:
    """The address of the files of the repository, if pyproject.toml names one."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    urls = {name.lower(): url for name, url in project.get("urls", {}).items()}
    found = urls.get("repository") or urls.get("source")
    return f"{found.rstrip('/')}/blob/main" if found else None


def site_links(text: str, folder: str, files: str | None) -> str:
    """A Markdown page of a folder of the repository with the links of the site; code stays as it is.

    Examples
    --------
    >>> site_links("[a](filters.md#mdlp), [b](../pyproject.toml), [c](#here), `[d](e.md)`", "docs", None)
    '[a](/filters.md#mdlp), b, [c](#here), `[d](e.md)`'
    """

    def link(found: re.Match[str]) -> str:
        picture, words, target, anchor = (found[name] for name in ("picture", "words", "target", "anchor"))
        if not target:  # code, or a link within the page
            return found[0]
        path = os.path.normpath(f"{folder}/{target}")
        if picture:
            where = next((p for old, p in _folders().items() if path.startswith(old)), None)
            return found[0] if path.startswith("docs/") or where is None else f"![{words}](/{where}/{Path(path).name})"
        if path in _places:
            return f"[{words}](/{_places[path]}.md{anchor or ''})"
        if path.startswith("docs/") and path.endswith((".md", ".rst")) and (ROOT / path).exists():
            return f"[{words}](/{path.removeprefix('docs/')}{anchor or ''})"
        return f"[{words}]({files}/{path}{anchor or ''})" if files else words

    return _LINK.sub(link, text)


def _folders() -> dict[str, str]:
    """Folders of the repository outside docs, and the folders of the site that hold their pages."""
    return {os.path.dirname(page): os.path.dirname(name) for page, name in _places.items() if "/" in page} | {
        "docs": "."
    }


def _read(app: Any, name: str, source: list[str]) -> None:
    own = {place: page for page, place in _places.items()}
    if name in own or (DOCS / f"{name}.md").exists():
        source[0] = site_links(source[0], os.path.dirname(own.get(name, f"docs/{name}")) or ".", address())


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
