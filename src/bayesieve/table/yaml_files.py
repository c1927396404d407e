"""Mappings in YAML files, which people edit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def read_yaml(path: str | os.PathLike[str], *, texts: bool = False) -> dict[Any, Any]:
    """The mapping in a YAML file; no key may be there twice.

    Parameters
    ----------
    path : of a file in UTF-8.
    texts : whether all values are texts as they are written, such as "no" and "007".

    Raises
    ------
    ValueError
        If there is no such file, or no mapping in it; one sentence names the file and the line.
    """
    import yaml

    class Loader(yaml.BaseLoader if texts else yaml.SafeLoader):  # type: ignore[misc]
        pass

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.MarkedYAMLError(problem=f"{twice!r} is there twice", problem_mark=node.start_mark)
        values = (loader.construct_object(value, deep=True) for _, value in node.value)
        return dict(zip(keys, values, strict=True))

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}); check its name and folder.") from None
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or "it cannot be read"
        place = "" if mark is None else f", line {mark.line + 1}"
        raise ValueError(f"{path}{place} is no YAML of columns and what is told of them: {problem:.100}.") from None
    if content is None or content == "":
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path} must map names of columns to what is told of them; it holds {content!r:.60}.")
    return content
