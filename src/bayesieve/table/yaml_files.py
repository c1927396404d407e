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
        own: dict[Any, Any] = {}
        for key_node, value in node.value:
            key = loader.construct_object(key_node, deep=True)
            if key in own:
                raise yaml.MarkedYAMLError(problem=f"{key!r} is there twice", problem_mark=key_node.start_mark)
            own[key] = loader.construct_object(value, deep=True)
        return own

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        loader = Loader(Path(path).read_text(encoding="utf-8-sig"))
        root = loader.get_single_node()
        if root is not None and _size(root, {}) > _MOST_VALUES:
            raise yaml.MarkedYAMLError(problem="aliases (*) repeat values millions of times; write them out")
        content = None if root is None else loader.construct_document(root)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}); check its name and folder.") from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = "" if mark is None else f", line {mark.line + 1}"
        raise _no_yaml(f"{path}{place}", problem or "it has characters that no text has") from None
    except UnicodeDecodeError:
        raise _no_yaml(path, "it is not in UTF-8; save it as UTF-8") from None
    except RecursionError:
        raise _no_yaml(path, "it is nested too deeply") from None
    except TypeError:
        raise _no_yaml(path, "a list or mapping cannot be a name in it") from None
    except ValueError as error:  # of dates and numbers
        raise _no_yaml(path, f"a value cannot be read ({error!s:.40}); put it in quotes") from None
    if content is None or content == "":
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path} must map names of columns to what is told of them; it holds {content!r:.60}.")
    return content


_MOST_VALUES = 10_000_000


def _size(node: Any, known: dict[int, float]) -> float:
    """How many values a node stands for, those of aliases each time."""
    if id(node) not in known:
        known[id(node)] = 1.0  # a node inside of itself is refused when it is read
        if isinstance(node.value, list):
            parts = (part for own in node.value for part in (own if isinstance(own, tuple) else (own,)))
            known[id(node)] += sum(_size(part, known) for part in parts)
    return known[id(node)]


def _no_yaml(place: object, problem: str) -> ValueError:
    return ValueError(f"{place} is no YAML of columns and what is told of them: {problem:.100}.")
