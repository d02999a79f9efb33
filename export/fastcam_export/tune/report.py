"""The results of tuning: a table for the terminal, and the same with all samples as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastcam_runtime.measure.conditions import describe as describe_conditions
from fastcam_runtime.model import device
from fastcam_runtime.model.session import count_threads
from fastcam_runtime.text import format_table

from .forms import FUNCTIONS, INLINE, PREPARED
from .measuring import Measured
from .tuning import Tuning

_EXACT = {
    FUNCTIONS.name: "exact, with compiled kernels if these were built",
    INLINE.name: "exact, standard operators only",
    PREPARED.name: "exact, for {here} with compiled kernels and nothing else",
}
UNSURE = "?: the budget lies inside the interval; try more --rounds or an idle device"


def text(tuning: Tuning, setup: Mapping[str, Any], images: str) -> str:
    """The table, with the conditions of the measurement above it and the forms explained below."""
    rows = [_row(tuning, one) for one in tuning.measured]
    unsure = any(row[-1].endswith("?") for row in rows)
    head = [
        "form", "kind", "plain ms", "maps ms", "95 % interval", "cost", "CPU", "Spearman", "worst",
        "top 10 %", "worst", f"≤ {tuning.budget}",
    ]  # fmt: skip
    return "\n".join(
        [
            f"{setup['cpu']}, {setup['provider']}, {count_threads(setup['threads'])}, "
            f"{'' if setup['compiled_kernels'] else 'no '}compiled kernels, "
            f"onnxruntime {setup['versions']['onnxruntime']}",
            f"cost: median of {_rounds(tuning)} rounds, each form in turn with the plain network; "
            "CPU: the same in CPU time, which other programs hardly change",
            describe_conditions(setup["conditions"]),
            f"similarity to the exact map: mean and worst of {setup['pictures']} pictures of {images}",
            "",
            format_table(head, rows),
            *([UNSURE] if unsure else []),
            "",
            *(f"{one.form.name}: {describe(one)}" for one in tuning.measured),
            *([f"{PREPARED.name}: not measured; {tuning.unprepared}"] if tuning.unprepared else []),
        ]
    )


def describe(one: Measured) -> str:
    """What a form is, in words."""
    if one.form.exact:
        return _EXACT[one.form.name].format(here=device.here())
    return f"an approximation: {one.approximation}"


def doubt(tuning: Tuning, one: Measured) -> str:
    """The doubt about a form whose cost may exceed the budget or is implausible, as the end of a sentence."""
    low, high = one.cost.interval
    if one.is_close_to(tuning.budget):
        reason = f"too much noise to tell whether it is within {tuning.budget}"
    elif high < 0:
        reason = f"within {tuning.budget}, but a negative cost is a sign of noise"
    else:
        return ""
    return (
        f"; {reason}: measured {one.cost.percent:+.1f} %, {one.cost.median:+.3f} ms, "
        f"with 95 % certainty {low:+.3f} to {high:+.3f} ms"
    )


def as_dict(tuning: Tuning, setup: Mapping[str, Any], images: str) -> dict[str, Any]:
    """Everything, in plain types."""
    return {
        **setup,
        "images": images,
        "budget": {"limit": tuning.budget.limit, "unit": tuning.budget.unit},
        "unprepared": tuning.unprepared,
        "best": tuning.best.form.name if tuning.best else None,
        "forms": [
            {
                "name": one.form.name,
                "exact": one.form.exact,
                "approximation": one.approximation,
                "within_budget": tuning.budget.allows(one.cost),
                "undecided": one.is_close_to(tuning.budget),
                "difference_ms": vars(one.cost),
                "cpu_difference_ms": vars(one.cpu_cost),
                "spearman": one.fidelity.spearman,
                "top_overlap": one.fidelity.overlap,
                "plain_ms": one.plain_ms,
                "samples_ms": one.samples_ms,
                "plain_cpu_ms": one.plain_cpu_ms,
                "cpu_samples_ms": one.cpu_samples_ms,
            }
            for one in tuning.measured
        ],
    }


def _rounds(tuning: Tuning) -> str:
    """`100`, or `100 to 400` where some forms were measured longer."""
    counts = sorted({len(one.samples_ms) for one in tuning.measured})
    return " to ".join(map(str, [counts[0], *counts[1:][-1:]]))


def _row(tuning: Tuning, one: Measured) -> list[str]:
    (rank, overlap), (worst_rank, worst_overlap) = one.fidelity.mean, one.fidelity.worst
    low, high = one.cost.interval
    verdict = "yes" if tuning.budget.allows(one.cost) else "no"
    return [
        one.form.name,
        "exact" if one.form.exact else "approx.",
        f"{one.plain:.3f}",
        f"{one.cost.median:+.3f}",
        f"{low:+.3f}…{high:+.3f}",
        f"{one.cost.percent:+.1f} %",
        f"{one.cpu_cost.percent:+.1f} %",
        f"{rank:.4f}",
        f"{worst_rank:.4f}",
        f"{overlap:.3f}",
        f"{worst_overlap:.3f}",
        verdict + "?" * one.is_close_to(tuning.budget),
    ]
