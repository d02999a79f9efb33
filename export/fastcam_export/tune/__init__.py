"""`fastcam tune`: the best maps that cost no more than a budget, measured on the device at hand."""

from __future__ import annotations

from .budget import Budget
from .fidelity import Fidelity
from .forms import Form
from .measuring import Measured, Workbench
from .tuning import Tuning, tune

__all__ = ["Budget", "Fidelity", "Form", "Measured", "Tuning", "Workbench", "tune"]
