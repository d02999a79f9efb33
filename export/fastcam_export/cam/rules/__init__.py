"""One vector–Jacobian rule per operator.

A rule is a function of a `Site` with the decorator `@rule("Operator")`. To support another operator, add a
rule to the module of its family. Besides `g`, a rule reads values of the forward pass (`x`, `y`, `input`).
Activations prefer their output `y`: where onnxruntime fuses them, `x` does not exist.
"""

from __future__ import annotations

from . import activations, arithmetic, indexing, linear, normalizations, pooling, reductions, shapes
from .registry import apply_rule, rule

__all__ = ["apply_rule", "rule"]

# Importing a family adds its rules to the table.
_FAMILIES = (activations, arithmetic, indexing, linear, normalizations, pooling, reductions, shapes)
