"""Bayesian classifiers of Weka 3.6 on raw tables, through files and Java."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.peer import Peer

_LEARNERS = ("AODE", "WAODE", "HNB")
_DEBIAN_JAR = "/usr/share/java/weka.jar"
_DISCRETIZE = "weka.filters.supervised.attribute.Discretize"
_IMPUTE = "weka.filters.unsupervised.attribute.ReplaceMissingValues"
_NO_JAR = "set WEKA_JAR to the path of a weka.jar of version 3.6, or run apt-get install weka on Debian"


def weka_command() -> list[str]:
    """Return the words of a command up to the name of the class of Weka that it runs.

    Raises
    ------
    ValueError
        If Java or Weka is not installed, or Weka lacks a learner.
    """
    java, jar = shutil.which("java"), Path(os.environ.get("WEKA_JAR", _DEBIAN_JAR))
    if java is None:
        raise ValueError("Weka needs Java, which is not on PATH; run apt-get install default-jre-headless on Debian.")
    if not jar.is_file():
        raise ValueError(f"Weka is not installed: there is no {jar}; {_NO_JAR}.")
    with ZipFile(jar) as classes:
        lacking = {f"weka/classifiers/bayes/{name}.class" for name in _LEARNERS}.difference(classes.namelist())
    if lacking:
        raise ValueError(f"{jar} lacks {Path(min(lacking)).stem}, which Weka has in version 3.6; {_NO_JAR}.")
    return [java, "-Djava.awt.headless=true", "-cp", str(jar)]


class WekaBayes(Peer):
    """Averaged one-dependence estimators (AODE, WAODE) or hidden naive Bayes (HNB) of Weka 3.6, with its defaults.

    Numbers are cut by Weka's supervised ``Discretize`` (Fayyad and Irani) on the training rows. AODE skips missing
    cells. WAODE and HNB do not support them, so Weka's ``ReplaceMissingValues`` replaces them by modes and means, as
    their authors do. Values not seen in training count as missing. Columns without values in training are dropped. Row
    weights are not supported.

    Parameters
    ----------
    kinds, random_state : see `Peer`.
    learner : {"AODE", "WAODE", "HNB"}, default="AODE"

    Attributes
    ----------
    classes_, columns_ : see `Peer`.
    model_ : bytes
        The model as Weka saves it.
    n_features_selected_ : int
        Number of columns with values in training.
    """

    takes_weights = False

    def __init__(self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0, learner: str = "AODE") -> None:
        super().__init__(kinds=kinds, random_state=random_state)
        self.learner = learner

    @classmethod
    def check_installed(cls) -> None:
        """Raise ValueError unless Java and Weka 3.6 are installed."""
        weka_command()

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit the learner by Weka to the rows of a table, and return the file of its model as bytes.

        ``codes`` (n_rows,) are class codes; ``weights`` are not used.
        """
        from sklearn.dummy import DummyClassifier

        self._learn_columns(table)
        frame = self._frame(table, missing=None, unknown=None)
        self.used_ = frame.columns[frame.notna().any()].tolist()
        if not self.used_:
            return DummyClassifier(strategy="prior").fit(frame, codes)
        filters = [_DISCRETIZE] if self.learner == "AODE" else [_IMPUTE, _DISCRETIZE]
        with TemporaryDirectory() as folder:
            rows, model = Path(folder, "rows.arff"), Path(folder, "model")
            self._write(rows, frame, codes)
            options = ["-t", str(rows), "-d", str(model), "-no-cv", "-v", "-o", "-F", _chain(filters)]
            learner = ["-W", f"weka.classifiers.bayes.{self.learner}"]
            _run("weka.classifiers.meta.FilteredClassifier", *options, *learner, makes=model)
            return model.read_bytes()

    def _n_features(self) -> int:
        """Return the number of columns with values in training."""
        return len(self.used_)

    def _proba(self, table: Table) -> np.ndarray:
        """Return the probabilities of the classes, (n_rows, n_classes)."""
        return np.exp(self._log_proba(table))

    def _log_proba(self, table: Table) -> np.ndarray:
        """Return log probabilities of the classes, (n_rows, n_classes), computed by Weka through files.

        Weka rounds to six decimals, so it writes logarithms.
        """
        from scipy.special import logsumexp

        frame = self._frame(table, missing=None, unknown=None)
        if not self.used_:
            return self.model_.predict_log_proba(frame)
        n_before, n_classes = len(self.used_) + 1, len(self.classes_)
        with TemporaryDirectory() as folder:
            model, rows, scored = (Path(folder, name) for name in ("model", "rows.arff", "found.arff"))
            model.write_bytes(self.model_)
            self._write(rows, frame, np.zeros(len(frame), dtype=np.int64))  # filters refuse missing classes
            filters = (
                f"weka.filters.supervised.attribute.AddClassification -serialized {_quoted(str(model))} -distribution",
                "weka.filters.unsupervised.attribute.NumericTransform -C java.lang.Math -M log "
                f"-R {n_before + 1}-{n_before + n_classes}",
                f"weka.filters.unsupervised.attribute.Remove -R 1-{n_before}",
            )
            files = ["-c", "last", "-i", str(rows), "-o", str(scored)]
            options = [word for one in filters for word in ("-F", one)]
            _run("weka.filters.MultiFilter", *options, *files, makes=scored)
            log_proba = np.array([_numbers(line) for line in _data_lines(scored)]).reshape(len(frame), n_classes)
        with np.errstate(invalid="ignore"):
            return log_proba - logsumexp(log_proba, axis=1, keepdims=True)

    def _write(self, path: Path, frame: Any, codes: np.ndarray) -> None:
        """Write rows to an ARFF file; ``frame`` is a pandas frame, and ``codes`` (n_rows,) are their class codes.

        Columns are named by position and values by code, so nothing needs quotes.
        """
        columns = zip(frame, self.columns_, strict=True)
        header = [
            f"@attribute {name} " + ("numeric" if column is None else _braced(map(str, range(len(column)))))
            for name, column in columns
            if name in self.used_
        ]
        labels = [f"c{code}" for code in range(len(self.classes_))]
        rows = frame[self.used_].assign(label=np.array(labels, dtype=object)[codes])
        text = "\n".join(["@relation rows", *header, f"@attribute label {_braced(labels)}", "@data", ""])
        path.write_text(
            text + rows.to_csv(header=False, index=False, na_rep="?", lineterminator="\n"), encoding="ascii"
        )


def _run(name: str, *options: str, makes: Path) -> None:
    """Run the class ``name`` of Weka with ``options``; ValueError if it does not write the file ``makes``.

    The file is checked because Weka exits with 0 even if it fails.
    """
    done = subprocess.run([*weka_command(), name, *options], capture_output=True, text=True, check=False)
    if not makes.is_file() or not makes.stat().st_size:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        why = next((line for line in lines if "xception" in line or "Error" in line), "it made no output")
        raise ValueError(f"Weka failed ({why}); correct the cause, or omit this classifier.")


def _data_lines(path: Path) -> list[str]:
    """Return the lines after the header of an ARFF file, one for each row."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines[lines.index("@data") + 1 :] if line]


def _numbers(line: str) -> list[float]:
    """Return the logarithms in a line of Weka's output, in which a missing value stands for log 0."""
    return [-np.inf if text == "?" else float(text) for text in line.split(",")]


def _chain(filters: list[str]) -> str:
    """Return the value of an option of Weka that applies several filters, given as commands, one after another."""
    return "weka.filters.MultiFilter " + " ".join(f"-F {_quoted(one)}" for one in filters)


def _braced(values: Any) -> str:
    """Return values as an ARFF list in braces."""
    return "{" + ",".join(values) + "}"


def _quoted(text: str) -> str:
    """Return a text in quotation marks, to be part of the value of an option of Weka."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
