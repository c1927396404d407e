"""Build src/bayesieve/report/bundle from package-lock.json: `python tools/charts/build.py` (needs npm)."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BUNDLE = HERE.parents[1] / "src" / "bayesieve" / "report" / "bundle"


def main() -> None:
    """Install what the lock file names, bundle it, and write it down with its licences and its hash."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in ("package.json", "package-lock.json", "charts.js"):
            shutil.copy(HERE / source, folder)
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, check=True)
        options = ["--bundle", "--minify", "--format=iife", "--target=es2022", "--legal-comments=none"]
        options += ["--charset=utf8", "--metafile=meta.json", "--outfile=bundle.js"]
        subprocess.run(["node_modules/.bin/esbuild", "charts.js", *options], cwd=folder, check=True)
        script = (folder / "bundle.js").read_bytes()
        inputs = json.loads((folder / "meta.json").read_text())["inputs"]
        BUNDLE.mkdir(exist_ok=True)
        (BUNDLE / "charts.js.gz").write_bytes(gzip.compress(script, 9, mtime=0))
        (BUNDLE / "charts.js.sha256").write_text(hashlib.sha256(script).hexdigest() + "\n")
        (BUNDLE / "LICENSES.txt").write_text(licences(folder, inputs), encoding="utf-8")


def licences(folder: Path, inputs: dict[str, object]) -> str:
    """Every licence of the bundle, after the names and versions of its packages."""
    packages = sorted({package_of(path) for path in inputs if path.startswith("node_modules/")})
    named: dict[str, list[str]] = {}
    for package in packages:
        facts = json.loads((folder / package / "package.json").read_text())
        texts = [path for path in sorted((folder / package).iterdir()) if path.name.lower().startswith("licen")]
        text = texts[0].read_text(encoding="utf-8").strip() if texts else f"Licence: {facts['license']}"
        named.setdefault(text, []).append(f"{facts['name']} {facts['version']} ({facts['license']})")
    return f"\n\n{'-' * 100}\n\n".join("\n".join([*names, "", text]) for text, names in named.items()) + "\n"


def package_of(path: str) -> str:
    """The folder of the package that a file belongs to."""
    head, _, tail = path.rpartition("node_modules/")
    depth = 2 if tail.startswith("@") else 1
    return head + "node_modules/" + "/".join(tail.split("/")[:depth])


if __name__ == "__main__":
    main()
