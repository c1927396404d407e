"""Content of a model file as plain values, the text of the file, and its checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bayesieve.plain_values import Damaged
from bayesieve.scorecard.model_file import FORMAT, VERSION, card_to_plain
from bayesieve.version import __version__
from bayesieve.words import format_count, utc_now

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

CHECKSUM = "sha256"
"""Name of the checksum in a model file."""
_Write = Callable[[Any], str]
_dumps: _Write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_sorted_dumps: _Write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True).encode


def model_content(model: SelectiveNB) -> dict[str, Any]:
    """Return the content of a model file without its checksum. Raise ValueError if JSON cannot represent the class
    labels.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "target": model.target_name_,
        "named": hasattr(model, "feature_names_in_"),
        **card_to_plain(model.scorecard_),
        "cautions": [asdict(caution) | {"columns": list(caution.columns)} for caution in model.cautions_],
        **({} if model.benefit_rule_ is None else {"benefit_rule": model.benefit_rule_.to_json()}),
        **({"id_columns": list(model.id_columns_)} if model.id_columns_ else {}),
        "search": model.trace_.to_json(),
    }


def export_header(model: SelectiveNB, name: str | None = None) -> dict[str, str]:
    """Return the facts about a model that every export states, as texts by name. The checksum is that of the model
    file.
    """
    try:
        content = checksum(model_content(model))
    except (Damaged, TypeError, ValueError):
        content = "none, as a file cannot hold the model"
    return {
        "model": name or model.target_name_ or "SelectiveNB",
        **({"target": model.target_name_} if model.target_name_ else {}),
        "exported": utc_now(),
        "bayesieve": __version__,
        "rows": format_count(model.n_rows_),
        "checksum": content,
    }


def _parts(data: dict[str, Any], dumps: _Write) -> dict[str, tuple[list[str], bool]]:
    """Return every entry of a model as JSON: a list of texts, and whether these are the objects of a list, one text
    each; otherwise there is a single text.
    """
    parts = {}
    try:
        for key, value in data.items():
            is_list = isinstance(value, list) and len(value) > 0 and isinstance(value[0], dict)
            parts[key] = [*map(dumps, value if is_list else [value])], is_list
    except RecursionError:
        raise Damaged("it is nested too deeply") from None
    except ValueError:
        raise Damaged("it holds a number that is not finite") from None
    return parts


def checksum(data: dict[str, Any]) -> str:
    """Return the SHA-256 of a file's content without the checksum; layout and order of keys make no difference."""
    parts, digest = _parts(data, _sorted_dumps), hashlib.sha256()
    try:
        for key in sorted(parts):
            for piece in (key, *parts[key][0]):
                digest.update(piece.encode())
                digest.update(b"\n")
    except UnicodeEncodeError:
        raise Damaged("it contains a lone surrogate, which is not valid text") from None
    return digest.hexdigest()


def content_to_text(data: dict[str, Any]) -> str:
    """Return the text of a model file, with one line for each entry or feature.

    Keys keep their order, because the order of special values matters.
    """
    lines = [
        f"{json.dumps(key)}: " + ("[\n" + ",\n".join(texts) + "\n]" if is_list else texts[0])
        for key, (texts, is_list) in _parts(data, _dumps).items()
    ]
    return "{\n" + ",\n".join([*lines, f'"{CHECKSUM}": "{checksum(data)}"']) + "\n}\n"
