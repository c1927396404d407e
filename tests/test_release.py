"""What a release is made of agrees with itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from bayesieve import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def plain(requirement: str) -> str:
    return requirement.replace(" ", "")


def test_versions_agree() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == __version__
    assert yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))["context"]["version"] == __version__


def test_the_recipe_needs_what_the_project_needs() -> None:
    needs = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))["requirements"]["run"]
    expected = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert list(map(plain, needs)) == list(map(plain, expected))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_that_there_are(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job.get("steps", ())]
    targets = [target for step in steps for target in re.findall(r"make (\S+)", step.get("run", ""))]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert steps
    assert not [target for target in targets if not re.search(rf"^{target}:", makefile, re.M) and target != "docs"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash(path: Path) -> None:
    actions = re.findall(r"uses: (?!\./)(.+)$", path.read_text("utf-8"), re.M)
    assert not [action for action in actions if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", action)]


def test_licences_of_the_wheel_agree() -> None:
    assert [path for path in PROJECT["license-files"] if not (ROOT / path).read_text("utf-8")] == []
    bundle = (ROOT / "src/bayesieve/report/bundle/LICENSES.txt").read_text("utf-8")
    in_bundle = {name for name in ("ISC", "MIT", "BSD-3-Clause", "Apache-2.0") if re.search(rf"\({name}\)", bundle)}
    assert in_bundle <= set(PROJECT["license"].split(" AND "))
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))["about"]
    assert (recipe["license"], recipe["license_file"]) == (PROJECT["license"], PROJECT["license-files"])


def test_five_papers_are_cited() -> None:
    references = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["references"]
    first_authors = [reference["authors"][0]["family-names"] for reference in references]
    assert first_authors == ["Boullé", "Rabenoro", "Abellán", "Blanquero", "Gidofalvi"]


def test_all_versions_of_python_are_tested() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))["jobs"]
    tested = jobs["tests"]["strategy"]["matrix"]["python"]
    declared = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if "Python :: 3." in name]
    assert tested == declared
