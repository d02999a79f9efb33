"""The forms in which maps can be grafted: exact ones, and cheaper approximations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastcam_runtime.errors import FastcamError, closest

from ..method.approximate import channels_read

MOST_LEFT_OUT = 3
"""The most scales that a form leaves out."""

LARGE = 0.8
"""Only the largest scales, which together hold this share of all tapped values, are approximated."""

SHARES = {"half": 0.5, "quarter": 0.25}


@dataclass(frozen=True)
class Form:
    """A way to graft the maps."""

    name: str
    exact: bool
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of the graft that it sets."""


FUNCTIONS = Form("functions", True)
INLINE = Form("inline", True, {"inline": True})
PREPARED = Form("prepared", True, {"prepared": True})


def exact_forms(kernels: bool) -> list[Form]:
    """The exact forms. Not every network can be prepared.

    Without compiled `kernels`, functions run as the same standard operators as the inlined form, and one of
    the two is enough.
    """
    return [PREPARED, FUNCTIONS, INLINE] if kernels else [FUNCTIONS]


def cheaper_forms(shapes: Sequence[tuple[int, ...]], kernels: bool) -> list[Form]:
    """Approximations: without channels of the largest scales, without scales, or both.

    `half-1` reads half of the channels of scale 1, `without-1-2` leaves out two scales. With compiled
    `kernels`, copying half of the channels takes as long as reading the other half, so only a quarter is
    tried.
    """
    values = [channels * height * width for _, channels, height, width in shapes]
    by_size = sorted(range(len(shapes)), key=lambda k: -values[k])
    large = _large(values, by_size)
    parts = [share for word, share in SHARES.items() if not (kernels and word == "half")]
    fewer_channels = [dict.fromkeys(group, share) for group in (by_size[:1], large) for share in parts]
    fewer_scales = [
        dict.fromkeys(by_size[:count], 0.0) for count in range(1, min(MOST_LEFT_OUT, len(shapes) - 1) + 1)
    ]
    both = [{by_size[0]: 0.0, **dict.fromkeys(large[1:], share)} for share in parts]
    changes = [*fewer_channels, *fewer_scales[:1], *(both if len(large) > 1 else []), *fewer_scales[1:]]
    forms: dict[tuple[int, ...], Form] = {}
    for change in changes:
        shares = tuple(change.get(k, 1.0) for k in range(len(shapes)))
        # With few channels, a quarter and a half may be the same number.
        read = tuple(channels_read(shape[1], share) for shape, share in zip(shapes, shares, strict=True))
        forms.setdefault(read, Form(_name(change), False, {"channel_share": shares}))
    return [form for read, form in forms.items() if read != tuple(shape[1] for shape in shapes)]


def find_form(name: str, forms: Sequence[Form]) -> Form:
    """The form of this name.

    Raises:
        FastcamError: There is none.
    """
    names = [form.name for form in forms]
    if name not in names:
        raise FastcamError(f"no form named '{name}'{closest(name, names)}; there are {', '.join(names)}")
    return forms[names.index(name)]


def _large(values: Sequence[int], by_size: Sequence[int]) -> list[int]:
    found: list[int] = []
    for k in by_size:
        if sum(values[i] for i in found) >= LARGE * sum(values):
            break
        found.append(k)
    return found


def _name(change: Mapping[int, float]) -> str:
    words = []
    for word, share in {"without": 0.0, **SHARES}.items():
        scales = sorted(k + 1 for k, part in change.items() if part == share)
        if scales:
            words.append("-".join([word, *map(str, scales)]))
    return "+".join(words)
