"""The scripts that come with the package: unchanged, named in the lock file, with their licences."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

from bayesieve import report

BUNDLE = Path(report.__file__).parent / "bundle"
TOOLS = Path(__file__).parents[2] / "tools" / "charts"


def test_the_bundle_is_the_one_that_was_built() -> None:
    script = gzip.decompress((BUNDLE / "charts.js.gz").read_bytes())
    assert hashlib.sha256(script).hexdigest() == (BUNDLE / "charts.js.sha256").read_text().strip()
    assert b"sourceMappingURL" not in script


def test_every_package_of_the_bundle_has_its_licence() -> None:
    text = (BUNDLE / "LICENSES.txt").read_text(encoding="utf-8")
    packages = dict(re.findall(r"^(\S+) (\d+\.\d+\.\d+) \(", text, flags=re.MULTILINE))
    locked = json.loads((TOOLS / "package-lock.json").read_text())["packages"]
    asked = json.loads((TOOLS / "package.json").read_text())["dependencies"]
    assert asked.items() <= packages.items()
    versions = {(path.rpartition("node_modules/")[2], facts.get("version")) for path, facts in locked.items()}
    assert set(packages.items()) <= versions
    assert text.count("Copyright") >= 3
