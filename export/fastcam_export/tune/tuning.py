"""Measure exact forms first, and approximations only if no exact one is, or may be, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fastcam_runtime.errors import FastcamError

from ..errors import GraftError
from .budget import Budget
from .forms import PREPARED, Form, cheaper_forms, exact_forms, find_form
from .measuring import Measured, Workbench


@dataclass(frozen=True)
class Tuning:
    """The measurements, in their order."""

    budget: Budget
    measured: tuple[Measured, ...]
    unprepared: str = ""
    """Why the network could not be prepared for this device; empty if it was, or without kernels."""

    @property
    def best(self) -> Measured | None:
        """The cheapest exact form within the budget, else the most faithful approximation, else None.

        An exact form that may be within the budget comes before approximations: noise alone does not justify
        an approximation.
        """
        within = [one for one in self.measured if self.budget.allows(one.cost)]
        undecided = [one for one in self.measured if one.is_close_to(self.budget)]
        for candidates in (within, undecided):
            exact = [one for one in candidates if one.form.exact]
            if exact:
                return min(exact, key=lambda one: one.cost.median)
        return max(within, key=lambda one: one.fidelity.mean, default=None)

    @property
    def cheapest(self) -> Measured:
        """The form with the lowest cost, where none is within the budget."""
        return min(self.measured, key=lambda one: self.budget.spent(one.cost))

    def named(self, name: str) -> Measured:
        """The measured form of this name.

        Raises:
            FastcamError: There is none.
        """
        form = find_form(name, [one.form for one in self.measured])
        return next(one for one in self.measured if one.form is form)


def tune(
    shapes: Sequence[tuple[int, ...]],
    budget: Budget,
    workbench: Workbench,
    pick: str | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Tuning:
    """Measure the exact forms and, if none is within the budget or may be, the approximations.

    Args:
        shapes: N×C×H×W of each of the network's taps.
        budget: The most that the maps may cost.
        workbench: Takes the measurements.
        pick: The form that the user chose. An approximation is then measured even if an exact form is within
            the budget, and it is the only approximation that is measured.
        progress: Called with the form that is measured, its rounds done, and its rounds in all; see
            `Workbench.measure`.

    Raises:
        FastcamError: `pick` names no form, or a form cannot be grafted or run.
    """
    exact = exact_forms(workbench.kernels)
    cheaper = cheaper_forms(shapes, workbench.statistic_has_kernel)
    if pick == PREPARED.name and not workbench.kernels:
        raise FastcamError(f"the form {pick} is for compiled kernels, and none are in use")
    picked = find_form(pick, [*exact, *cheaper]) if pick is not None else None

    measured: list[Measured] = []

    def measure(form: Form) -> Measured:
        # An exact form that decides whether approximations are needed is worth more rounds.
        settled = picked is not None or any(one.is_surely_within(budget) for one in measured)
        decides = form.exact and not settled
        return workbench.measure(form, partial(progress, form.name), budget if decides else None)

    unprepared = ""
    for form in exact:
        try:
            measured.append(measure(form))
        except GraftError as error:
            # Not every network can be prepared. Any other error, or an error of the picked form, is raised.
            if form is not PREPARED or form is picked:
                raise
            unprepared = str(error)
    tuning = Tuning(budget, tuple(measured), unprepared)
    if picked is not None:
        cheaper = [] if picked.exact else [picked]
    elif tuning.best is not None:
        cheaper = []
    return replace(tuning, measured=(*measured, *map(measure, cheaper)))
