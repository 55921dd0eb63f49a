"""YAML that remembers where everything stands, so that a fault can be named with its line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from howsure.errors import InputError
from howsure.safe_io import read_bytes

__all__ = ["Document", "read_yaml"]

_LARGEST = 64 * 2**20


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


def read_yaml(path: Path) -> Document:
    """The content of a YAML or JSON file; a key that stands twice is refused."""
    import yaml

    if path.is_file() and path.stat().st_size > _LARGEST:
        raise InputError(f"{path}: larger than {_LARGEST // 2**20} MB and not read.")
    loader = None
    try:
        loader = _loader()(read_bytes(path).decode("utf-8-sig"))
        tree = loader.get_single_node()
        _refuse_twice(tree, path, seen=set())
        return Document(path, loader.construct_document(tree) if tree else None, tree)
    except UnicodeError:
        raise InputError(f"{path}: not text in UTF-8. Save it as UTF-8.") from None
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(
            f"{path}{line}: not YAML ({error.problem}). Quote texts that hold : or #, or use `|`."
        ) from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML ({' '.join(str(error).split())[:160]}).") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply.") from None
    finally:
        if loader is not None:
            loader.dispose()


@cache
def _loader() -> Any:
    """YAML without surprises: yes, no, on and off are words and dates are texts; only true and false are truth values."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {
        letter: [(tag, pattern) for tag, pattern in resolvers if _is_plain(tag, letter)]
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
        if key is not None and key.value in keys and isinstance(key, yaml.ScalarNode):
            raise InputError(f"{path} line {key.start_mark.line + 1}: {key.value!r} is there twice. Keep one.")
        if isinstance(key, yaml.ScalarNode):
            keys.add(key.value)
        _refuse_twice(value, path, seen)
