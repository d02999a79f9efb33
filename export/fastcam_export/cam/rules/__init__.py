"""One vector–Jacobian rule per operator.

A rule is a function of a `Site` under `@rule("Operator")`; to support another operator, add one to the
module of its family. What a rule reads besides `g` it takes from the forward pass (`x`, `y`, `input`).
Activations prefer their output `y`: where onnxruntime fuses them, `x` does not exist.
"""

from __future__ import annotations

from . import activations, arithmetic, linear, normalizations, pooling, reductions, shapes
from . import indexing as gathering
from .registry import apply_rule, rule

__all__ = ["apply_rule", "rule"]

# Importing a family enters its rules in the table.
_FAMILIES = (activations, arithmetic, gathering, linear, normalizations, pooling, reductions, shapes)
