"""A TOML table that knows its place, so that errors name file, key, found, allowed and next step."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hotlap.errors import ProblemError

T = TypeVar("T")

_KINDS: Mapping[type, str] = {
    str: "a string",
    int: "an integer",
    bool: "true or false",
    list: "an array",
    dict: "a table",
}


@dataclass(frozen=True)
class Table:
    """One table of a TOML file. `path` is its dotted place (`workloads[3]`), empty at the top."""

    file: Path
    path: str
    values: Mapping[str, object]

    def place(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path and key else self.path or key

    def error(self, key: str, found: str, allowed: str, next_step: str) -> ProblemError:
        return ProblemError(f"{self.file}: {self.place(key)}: found {found}; allowed: {allowed}; {next_step}")

    def only(self, keys: Iterable[str]) -> None:
        """Raise ProblemError for a key that is none of `keys`."""
        allowed = list(keys)
        for key in self.values:
            if key not in allowed:
                raise self.error(
                    key, f"unknown key {show(key)}", listing(allowed), nearest(key, allowed, "remove it")
                )

    def need(self, key: str, kind: type[T]) -> T:
        """The value of a required key; a bool is not an integer here."""
        if key not in self.values:
            raise self.error(
                key, "nothing", _KINDS[kind], f"add {key} to {self.path or 'the top of the file'}"
            )
        value = self.values[key]
        if type(value) is not kind:
            raise self.error(key, show(value), _KINDS[kind], f"write {_KINDS[kind]}")
        return value

    def optional(self, key: str, kind: type[T], default: T) -> T:
        return self.need(key, kind) if key in self.values else default

    def choice(self, key: str, allowed: Iterable[str]) -> str:
        """The value of a required key that must be one of `allowed`."""
        value, options = self.need(key, str), list(allowed)
        if value not in options:
            raise self.error(
                key, show(value), listing(options), nearest(value, options, "choose one of these")
            )
        return value

    def table(self, key: str) -> "Table":
        return Table(self.file, self.place(key), self.need(key, dict))

    def tables(self, key: str) -> list["Table"]:
        """A required array of tables, at least one."""
        items = self.values.get(key, [])
        if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
            found = show(self.values[key]) if key in self.values else "nothing"
            raise self.error(key, found, "one table or more", f"write it as [[{key}]]")
        return [Table(self.file, f"{self.place(key)}[{index}]", item) for index, item in enumerate(items)]


def show(value: object) -> str:
    """A value as an error message shows it: short, and on one line."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def listing(options: Iterable[str]) -> str:
    return ", ".join(options) or "none"


def nearest(word: str, options: Iterable[str], otherwise: str) -> str:
    """What to do next: the close match to a mistyped word if there is one."""
    match = difflib.get_close_matches(word, list(options), n=1)
    return f"did you mean {match[0]!r}?" if match else otherwise
