"""Explain what the user chose: the best class, a class, or a box, which is followed from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence

from ..detect.one_box import explain_box
from ..explainer import Explainer
from ..explanation import Explanation, InputTensor
from .controls import Box, Choice


class ChoiceExplainer:
    """Explains frames one after the other."""

    def __init__(self, explainer: Explainer) -> None:
        self._explainer = explainer
        self._clicked: Box | None = None
        self._followed: Box | None = None
        """Where the clicked box was in the last frame."""

    def __call__(self, tensor: InputTensor, choice: Choice, outputs: Sequence[str]) -> Explanation:
        """The explanation of the chosen class or box."""
        if choice.box is None or choice.class_choice is not None:
            self._followed = None
            classes = None if choice.class_choice is None else [choice.class_choice]
            return self._explainer.explain(tensor, classes, outputs)[0]
        if self._followed is None or choice.box != self._clicked:
            self._clicked = self._followed = choice.box
        explanation = explain_box(self._explainer, tensor, self._followed, outputs)
        if explanation.chosen is not None and not isinstance(choice.box, int):
            self._followed = explanation.chosen.centre
        return explanation
