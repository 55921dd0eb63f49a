"""YAML that people write: read within bounds, with the line of everything, so that a fault can be named with it.

Every YAML file comes in through `read_yaml`, also packed as ``.gz``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.safe_io import read_bytes

__all__ = ["Document", "read_yaml"]

_LARGEST = 32 * 2**20
_MOST_PARTS = 500_000  # keys, values and lists, each alias counted as what it stands for
_DEEPEST = 100
_FAULTS = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)


@dataclass(frozen=True)
class Document:
    """What a file holds, and the tree that knows its lines."""

    path: Path
    value: Any
    tree: Any

    def line_of(self, place: Sequence[str | int]) -> str:
        """`` line 12`` for the deepest part of a place that is in the file."""
        import yaml

        node = self.tree
        for part in place:
            if isinstance(node, yaml.MappingNode):
                inner = next((value for key, value in node.value if key.value == part), None)
            else:
                is_in = isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value)
                inner = node.value[part] if is_in and isinstance(part, int) else None
            if inner is None:
                break
            node = inner
        return f" line {node.start_mark.line + 1}" if node is not None else ""


def read_yaml(path: Path, *, is_text: bool = False) -> Document:
    """The content of a YAML or JSON file; a key that stands twice is refused.

    Parameters
    ----------
    path : Path
        The file, up to 32 MB unpacked, nested up to 100 deep, with up to 500,000 keys and values.
    is_text : bool
        Leave every value as the text that stands there; otherwise numbers, true, false and null are what they look like.
    """
    import yaml

    loader = None
    try:
        text = read_bytes(path, _LARGEST).decode("utf-8-sig")
        _refuse_beyond_bounds(text, path)
        loader = _loader(is_text)(text)
        tree = loader.get_single_node()
        _refuse_twice(tree, path, seen=set())
        return Document(path, loader.construct_document(tree) if tree else None, tree)
    except UnicodeError:
        raise InputError(f"{path}: not text in UTF-8. Save it as UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(
            f"{path}{line}: not YAML ({error.problem}). Quote texts that contain : or #, or use `|`."
        ) from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML ({' '.join(str(error).split())[:160]}).") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply.") from None
    finally:
        if loader is not None:
            loader.dispose()


def _refuse_beyond_bounds(text: str, path: Path) -> None:
    """Walk over the file's parts without building them, and stop at the first that goes too far."""
    import yaml

    n_by_anchor: dict[str, int] = {}
    open_parts: list[
        tuple[str | None, int]
    ] = []  # the anchor of each collection around this place, and the count before it
    n_parts = 0
    events: Any = yaml.parse(text, Loader=_fast_loader())
    for event in events:
        mark: Any = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in open_parts):
                raise InputError(f"{path} line {mark.line + 1}: *{event.anchor} holds itself.")
            n_parts += n_by_anchor.get(str(event.anchor), 0)
        elif isinstance(event, yaml.CollectionStartEvent):
            open_parts.append((event.anchor, n_parts))
            n_parts += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_parts.pop()
            if anchor is not None:
                n_by_anchor[anchor] = n_parts - before
        elif isinstance(event, yaml.ScalarEvent):
            n_parts += 1
            if event.anchor is not None:
                n_by_anchor[event.anchor] = 1
        if n_parts > _MOST_PARTS or len(open_parts) > _DEEPEST:
            fault = "nested too deeply" if len(open_parts) > _DEEPEST else f"more than {_MOST_PARTS:,} keys and values"
            raise InputError(f"{path} line {mark.line + 1}: {fault}.")


@cache
def _fast_loader() -> Any:
    """Libyaml's parser, where PyYAML was built with it."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def _loader(is_text: bool) -> Any:  # noqa: FBT001
    """YAML without surprises: yes, no, on and off are words and dates are texts; only true and false are truth values."""
    import yaml
    from yaml.constructor import ConstructorError

    class Loader(_fast_loader()):  # type: ignore[misc]
        def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
            try:
                return super().construct_object(node, deep=deep)
            except _FAULTS:
                told = f"{str(node.value)[:60]!r} is not a value of type {node.tag.rpartition(':')[2]}"
                raise ConstructorError(None, None, told, node.start_mark) from None

    Loader.yaml_implicit_resolvers = {
        letter: [(tag, pattern) for tag, pattern in resolvers if _is_plain(tag, letter) and not is_text]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _is_plain(tag: str, letter: str) -> bool:
    kind = tag.rpartition(":")[2]
    return kind != "timestamp" and (kind != "bool" or letter in "tTfF")


def _refuse_twice(node: Any, path: Path, seen: set[int]) -> None:
    import yaml

    if id(node) in seen or not isinstance(node, yaml.CollectionNode):
        return
    seen.add(id(node))
    keys: set[str] = set()
    for child in node.value:
        key, value = child if isinstance(node, yaml.MappingNode) else (None, child)
        if isinstance(key, yaml.ScalarNode):
            if key.value in keys:
                raise InputError(f"{path} line {key.start_mark.line + 1}: {key.value!r} is there twice. Keep one.")
            keys.add(key.value)
        _refuse_twice(value, path, seen)
