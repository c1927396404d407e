"""Saving and loading of model files as JSON.

A file is written completely or not at all. It is exact to the last bit, and reading it executes no code.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.classifier.file_content import CHECKSUM, checksum, content_to_text, model_content
from bayesieve.classifier.fit_provenance import options_of_file
from bayesieve.classifier.plan import check_options
from bayesieve.classifier.selective import SelectiveNB
from bayesieve.decision import BenefitRule
from bayesieve.parts import OptionText, arguments
from bayesieve.plain_values import Damaged, converted, read_by
from bayesieve.scorecard.model_file import FORMAT, VERSION, ModelFile, card_from_file
from bayesieve.search import SearchTrace
from bayesieve.table.paths import checked_path
from bayesieve.table.writing import refuse_other_format, write_atomically

_REMEDY = "restore the file or fit the model again"


def save(model: SelectiveNB, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file. The file is read back first, and replaces an existing file only if that
    succeeds.
    """
    refuse_other_format(path, "a model as JSON", ".json")
    data = model_content(model)
    try:
        text = content_to_text(data)
        again = _model_of(data)
    except (Damaged, RecursionError) as error:
        raise ValueError(f"This model cannot be saved as JSON: {error}; pickle it.") from None
    values_read = _compared_values(again)
    for what, values in _compared_values(model).items():
        if what not in values_read or not np.array_equal(values, values_read[what]):
            raise ValueError(
                f"This model cannot be saved as JSON, because {what} would change, as after an edit of fitted "
                "attributes by hand. Fit the model again, or pickle it, which keeps all values as they are."
            )
    write_atomically(path, text)


def _model_of(data: dict[str, Any]) -> SelectiveNB:
    """Return the model from the content of a file. Raise `Damaged` if a value is invalid or contradicts another."""
    file = converted(data, ModelFile, "content")
    card = card_from_file(file)
    options = options_of_file(file.provenance.get("options", {}), file.provenance.get("rules"))
    usual = arguments(SelectiveNB)
    if unknown := set(options) - set(usual):
        raise Damaged(f"it has an option {min(unknown)!r} that this bayesieve does not know")
    n_jobs = options.get("n_jobs")
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0):
        raise Damaged("n_jobs is neither null nor a number of threads")
    read_by(check_options, usual | {k: value for k, value in options.items() if not isinstance(value, OptionText)})
    model = SelectiveNB._of_record(
        options,
        card,
        SearchTrace.from_json(file.search, tuple(feature.name for feature in card.features)),
        has_column_names=file.named,
        cautions=tuple(file.cautions),
    )
    rule = None if file.benefit_rule is None else BenefitRule.from_json(file.benefit_rule, card.classes)
    return model._with_facts_for_commands(file.target, rule, tuple(file.id_columns))


def load(path: str | os.PathLike[str]) -> SelectiveNB:
    """Read a model from a file that `SelectiveNB.save` wrote; its predictions are identical to the last bit.

    Parameters
    ----------
    path : str or path
        Model file.

    Returns
    -------
    SelectiveNB
        Fitted model.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is not a model file, is damaged, or has another version; the message states which.

    Examples
    --------
    >>> import bayesieve, tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> model = bayesieve.SelectiveNB().fit(X, y)
    >>> model.save(path)
    >>> bool((bayesieve.load(path).predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    file = checked_path(path)
    if not file.exists():
        raise FileNotFoundError(f"There is no model file {file}; check the name, or fit a model first.")
    if file.is_dir():
        raise ValueError(f"{file} is a folder; pass the model file in it.")
    if file.is_char_device():  # reading a device may never end
        raise ValueError(f"{file} is a device, not a model file; pass a file that save wrote.")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror}); check the file and its permissions.") from None
    try:
        return _from_text(content, file)
    except Damaged as error:
        raise ValueError(f"{file} is damaged: {str(error).rstrip('.')}; {_REMEDY}.") from None


def _from_text(content: bytes, file: Path) -> SelectiveNB:
    """Return the model from the content of a file. ``file`` is its path, for messages.

    Raise ValueError if the content is not a model of this version, or `Damaged` if its values contradict each other.
    """
    data = _parse(content, file)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(
            f"{file} is not a bayesieve model, because its format is not {FORMAT}; pass a file that save wrote."
        )
    version = data.get("version", "unknown")
    if type(version) is not int or version != VERSION:
        written = version if isinstance(version, str) else json.dumps(version)
        raise ValueError(
            f"{file} has model version {written[:20]}, but this bayesieve reads version {VERSION}. Update bayesieve, "
            "or fit the model again."
        )
    sum_in_file = data.pop(CHECKSUM, None)
    if sum_in_file != checksum(data):
        raise Damaged("its checksum does not match its content")
    try:
        return _model_of(data)
    except Damaged:
        raise
    except Exception:  # Python's messages would not help a user with a damaged file
        raise Damaged("its values contradict each other") from None


def _parse(content: bytes, file: Path) -> Any:
    """Return the JSON value in the content of a file. ``file`` is its path, for messages. Raise ValueError if it is not
    JSON.
    """
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8 text"
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}"
    except RecursionError:
        reason = "it is nested too deep"
    except Damaged:
        raise
    except ValueError:  # an integer with thousands of digits
        raise Damaged("it contains a number that is too long") from None
    if FORMAT.encode() in content[:200]:
        raise Damaged(f"it does not hold valid JSON ({reason})")
    raise ValueError(
        f"{file} is not a model file: it does not hold valid JSON ({reason}); pass a file that save wrote."
    )


def _refuse_constant(text: str) -> float:
    """Raise `Damaged` for a JSON constant such as NaN."""
    raise Damaged(f"it holds {text}, which no model contains")


def _compared_values(model: SelectiveNB) -> dict[str, np.ndarray]:
    """Return contributions, intercept, class counts, feature weights and classes by their names in messages. A saved
    model is compared with the original by these values.
    """
    card = model.scorecard_
    tables = {f"the contributions of feature {feature.name!r}": feature.table for feature in card.used_features}
    return {
        **tables,
        "the intercept": card.intercept,
        "the class counts": card.class_counts,
        "the weights in feature_weights_": model.feature_weights_,
        "the classes in classes_": model.classes_,
    }
