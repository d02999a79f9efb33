"""The maps of one frame, by the names of the file's outputs or by the short names of `--outputs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .. import contract
from ..errors import FastcamError, closest
from ..image import Array

_PREFIX = "saliency_"
"""The common prefix of the contract's names."""


class NoMapError(FastcamError, KeyError):
    """There is no map of that name; the message lists those that exist."""

    __str__ = Exception.__str__  # KeyError would put the message in quotation marks


class Maps(Mapping[str, Array]):
    """Maps by output name, in the order of the file; read-only.

    A short name works too: `maps["cam"]` is `maps["saliency_cam"]`, `maps["scale_1"]` the first scale.

    Args:
        maps: By output name.

    Example:
        >>> import numpy as np
        >>> maps = Maps({"saliency_cam": np.zeros((7, 7))})
        >>> maps["cam"] is maps["saliency_cam"]
        True
        >>> list(maps)
        ['saliency_cam']
    """

    def __init__(self, maps: Mapping[str, Array]) -> None:
        self._maps = dict(maps)

    def __getitem__(self, name: str) -> Array:
        """The map.

        Raises:
            NoMapError: There is no map of that name.
        """
        for known in (name, f"{_PREFIX}{name}"):
            if known in self._maps:
                return self._maps[known]
        there = ", ".join(self._maps) or "none"
        advice = "; export the file with --outputs all for all of them" if _is_known(name) else ""
        raise NoMapError(f"no map {name!r}; there are: {there}{closest(str(name), self._maps)}{advice}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._maps)

    def __len__(self) -> int:
        return len(self._maps)

    def __repr__(self) -> str:
        return f"Maps({', '.join(f'{name} {_size(array)}' for name, array in self._maps.items())})"


def _is_known(name: str) -> bool:
    """Whether some file may have a map of that name."""
    words = {word.removeprefix(_PREFIX) for word in contract.OUTPUTS}
    return str(name).removeprefix(_PREFIX) in words


def _size(array: Array) -> str:
    return "×".join(map(str, array.shape))


def item_of(
    names: Sequence[str], arrays: Sequence[Array], index: int, whole: Sequence[str]
) -> dict[str, Array]:
    """One item of a batch, by output. Outputs that do not depend on the class have one item for all.

    Args:
        names: Of the outputs.
        arrays: The outputs.
        index: The item.
        whole: Outputs that may come without a batch, as the rows of some detectors do.
    """
    return {
        name: array if name in whole and array.ndim == 2 else array[min(index, len(array) - 1)]
        for name, array in zip(names, arrays, strict=True)
    }
