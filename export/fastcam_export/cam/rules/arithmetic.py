"""Rules of the functions of several tensors, with broadcasting."""

from __future__ import annotations

import onnx_ir as ir

from ..site import Site
from .registry import ANY, rule


@rule("Add", "Sum", inputs=ANY)
def add(at: Site) -> ir.Value:
    return at.sum_to(at.g)


@rule("Sub", inputs=2)
def sub(at: Site) -> ir.Value:
    return at.sum_to(at.g if at.index == 0 else at.op.Neg(at.g))


@rule("Mul", inputs=2)
def mul(at: Site) -> ir.Value:
    return at.sum_to(at.op.Mul(at.g, at.input(1 - at.index)))


@rule("Div", inputs=2)
def div(at: Site) -> ir.Value:
    """a/b: g/b to a, −g·(a/b)/b to b."""
    quotient = at.op.Div(at.g, at.input(1))
    return at.sum_to(quotient if at.index == 0 else at.op.Neg(at.op.Mul(quotient, at.y)))


@rule("Pow")
def power(at: Site) -> ir.Value:
    """xᵖ: g·p·xᵖ⁻¹."""
    op, exponent = at.op, at.input(1)
    constant = at.constant(1)
    if constant is not None and bool((constant == 2).all()):
        slope = op.Mul(at.x, 2.0)
    else:
        slope = op.Mul(exponent, op.Pow(at.x, op.Sub(exponent, 1.0)))
    return at.sum_to(op.Mul(at.g, slope))


@rule("Max", "Min", inputs=ANY)
def extreme(at: Site) -> ir.Value:
    """The inputs that equal the minimum or maximum share the cotangent."""
    op = at.op
    hits = [op.Equal(at.input(i), at.y) for i in range(len(at.node.inputs))]
    number = op.Cast(hits[0], to=ir.DataType.FLOAT)
    for hit in hits[1:]:
        number = op.Add(number, op.Cast(hit, to=ir.DataType.FLOAT))
    return at.sum_to(op.Where(hits[at.index], op.Div(at.g, number), 0.0))


@rule("Where", inputs=3)
def where(at: Site) -> ir.Value:
    op, condition = at.op, at.node.inputs[0]
    if at.index == 0:
        raise at.refuse("its condition depends on the picture")
    return at.sum_to(op.Where(condition, *((at.g, 0.0) if at.index == 1 else (0.0, at.g))))
