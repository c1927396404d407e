"""Mappings in YAML files that people edit: every value is read, and written, as text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def read_yaml(path: str | os.PathLike[str], *, with_null: bool = False) -> dict[str, Any]:
    """Return the mapping in a YAML file, with all values as written: "no", "007" and "12:30" are texts.

    Parameters
    ----------
    path : path of a file in UTF-8.
    with_null : whether an unquoted ``null`` or ``~``, or no value at all, is read as None.

    Raises
    ------
    ValueError
        If there is no such file, it is not a mapping, or a key appears twice; the message names the file and the line.
    """
    import yaml

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        try:  # libyaml, which most builds of PyYAML include, is four times as fast, and its messages are less clear
            root = yaml.compose(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        except yaml.YAMLError:
            root = yaml.compose(text, Loader=yaml.BaseLoader)
        if root is not None and _size(root, {}) > _MOST_VALUES:
            raise yaml.MarkedYAMLError(problem="aliases (*) repeat values millions of times; write them out")
        content = None if root is None else _NodeReader(with_null).value(root)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}); check its name and folder.") from None
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = "" if mark is None else f", line {mark.line + 1}"
        raise _no_yaml(
            f"{path}{place}", problem or "it contains control characters, which YAML does not allow; remove them"
        ) from None
    except UnicodeDecodeError:
        raise _no_yaml(path, "it is not in UTF-8; save it as UTF-8") from None
    except RecursionError:
        raise _no_yaml(path, "it is nested too deeply") from None
    if content is None or content == "":
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path} must map names of columns to their options; it holds {content!r:.60}.")
    return content


def write_yaml(content: dict[str, Any]) -> str:
    """Return a mapping as YAML from which `read_yaml` reads the same texts; numbers and booleans are not quoted, None
    is null.

    Raises
    ------
    TypeError
        If it holds anything but mappings, lists, texts, numbers, booleans and None.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def represent_text(dumper: Any, text: str) -> Any:
        """Return the YAML node of a text."""
        # In single quotes, a line break such as U+0085 would be read back as a blank.
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')

    def represent_number(dumper: Any, number: float) -> Any:
        """Return the YAML node of a float."""
        # YAML reads 1e+300 as text, so it needs neither quotes nor a tag.
        text = repr(number)
        return dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in text else 'str'}", text)

    Dumper.add_representer(str, represent_text)
    Dumper.add_representer(float, represent_number)
    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 120, "default_flow_style": None}
    try:
        return str(yaml.dump(content, Dumper=Dumper, **options))
    except yaml.YAMLError as error:
        raise TypeError(str(error)) from None


_MOST_VALUES = 10_000_000
_NULL = ("", "~", "null")
_TAGS = tuple(
    f"tag:yaml.org,2002:{name}" for name in ("str", "null", "bool", "int", "float", "timestamp", "seq", "map")
)


class _NodeReader:
    """Converter of YAML nodes to dicts, lists and texts.

    Parameters
    ----------
    with_null : whether an unquoted ``null`` or ``~``, or no value at all, is read as None; otherwise as text.
    """

    def __init__(self, with_null: bool) -> None:
        self._with_null = with_null
        self._values: dict[int, Any] = {}  # values of nodes, which aliases share; None while a node is being read

    def value(self, node: Any) -> Any:
        """Return the value of a YAML node: a dict, list or text, or None."""
        import yaml

        if node.tag not in _TAGS:
            raise yaml.MarkedYAMLError(
                problem=f"the tag {node.tag!r} is not supported; remove it", problem_mark=node.start_mark
            )
        if isinstance(node, yaml.ScalarNode):
            is_null = self._with_null and not node.style and node.value in _NULL
            return None if is_null else str(node.value)
        if id(node) in self._values:
            if self._values[id(node)] is None:
                raise yaml.MarkedYAMLError(
                    problem="an alias (*) refers to the list or mapping that contains it; write the values out",
                    problem_mark=node.start_mark,
                )
            return self._values[id(node)]
        self._values[id(node)] = None
        is_mapping = isinstance(node, yaml.MappingNode)
        value = self._mapping(node) if is_mapping else [self.value(one) for one in node.value]
        self._values[id(node)] = value
        return value

    def _mapping(self, node: Any) -> dict[str, Any]:
        """Return the content of a YAML mapping as a dict; raise an error if a key is a list or a mapping, or occurs
        twice.
        """
        import yaml

        mapping: dict[str, Any] = {}
        for name, value in node.value:
            if not isinstance(name, yaml.ScalarNode):
                problem = "a name must be text, not a list or mapping"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=name.start_mark)
            if name.value in mapping:
                problem = f"the name {name.value!r} occurs twice; remove one of the two"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=name.start_mark)
            mapping[name.value] = self.value(value)
        return mapping


def _size(node: Any, sizes: dict[int, float]) -> float:
    """Return the number of values in a YAML node, where the values of an alias count at each use.

    ``sizes`` stores the result of each node by its `id`.
    """
    if id(node) not in sizes:
        sizes[id(node)] = 1.0  # a node inside of itself is refused when it is read
        if isinstance(node.value, list):
            parts = (part for item in node.value for part in (item if isinstance(item, tuple) else (item,)))
            sizes[id(node)] += sum(_size(part, sizes) for part in parts)
    return sizes[id(node)]


def _no_yaml(place: object, problem: str) -> ValueError:
    """Return the error that ``place``, a file and perhaps a line, is not valid YAML."""
    return ValueError(f"{place} is not valid YAML of columns and their options: {problem:.100}.")
