"""The table of rules: operator → how a cotangent goes from its output to its input."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from ...analysis.operators import facts
from ..site import Site

GradientRule = Callable[[Site], ir.Value]
ANY = -1

RULES: dict[str, tuple[GradientRule, int]] = {}
"""The rule of each operator, and the number of inputs it covers."""


def rule(*op_types: str, inputs: int = 1) -> Callable[[GradientRule], GradientRule]:
    """Add the decorated function to the table, for the first `inputs` inputs (or `ANY`)."""

    def enter(function: GradientRule) -> GradientRule:
        for op_type in op_types:
            RULES[op_type] = (function, inputs)
        return function

    return enter


def apply_rule(site: Site) -> ir.Value:
    """The cotangent of the site's input.

    Raises:
        GraftError: The operator has no rule, or none for this input or these attributes.
    """
    node = site.node
    if node.domain not in ("", "ai.onnx") or node.op_type not in RULES:
        if facts(node.op_type).integer:
            raise site.refuse("it computes integers: quantise in the QDQ format instead")
        domain = f" of domain '{node.domain}'" if node.domain else ""
        raise site.refuse(f"there is no rule for this operator{domain}")
    function, inputs = RULES[node.op_type]
    if inputs != ANY and site.index >= inputs:
        raise site.refuse(f"its input '{site.source.name}' depends on the picture")
    return function(site)
