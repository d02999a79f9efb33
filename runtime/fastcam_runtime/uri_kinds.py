"""Kinds of inputs and outputs: which URIs belong to each, how it is opened, and how the help describes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

OptionsT = TypeVar("OptionsT")
OpenedT = TypeVar("OpenedT")


@dataclass(frozen=True)
class UriKind(Generic[OptionsT, OpenedT]):
    """One kind of input or output, declared beside its class and listed in one registry."""

    usage: Mapping[str, str]
    """What a user types, by example, and what it means."""
    open: Callable[[str, OptionsT], OpenedT]
    schemes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    matches: Callable[[str], bool] | None = None
    """Whether a URI is of this kind; by default its scheme or its suffix decides."""

    def accepts(self, uri: str) -> bool:
        """Whether `uri` is of this kind."""
        if self.matches is not None:
            return self.matches(uri)
        scheme, separator, _ = uri.partition("://")
        return scheme in self.schemes if separator else Path(uri).suffix.lower() in self.suffixes


def local_path(text: str | Path) -> Path:
    """The path that a user typed, with `~` as the home folder; `~name` stays if there is no such user."""
    return Path(os.path.expanduser(text))


def usage_lines(kinds: Iterable[UriKind[OptionsT, OpenedT]]) -> str:
    """One line for each way to name an input or output, for `--help`."""
    rows = [row for kind in kinds for row in kind.usage.items()]
    width = max(len(example) for example, _ in rows)
    return "\n".join(f"  {example:{width}}  {meaning}" for example, meaning in rows)
