"""How an open session takes the class that its maps are for."""

from __future__ import annotations

from dataclasses import dataclass

import onnxruntime as ort

from ..contract import CLASS_INPUT, CLASSES


@dataclass(frozen=True)
class ClassInput:
    """The input `saliency_class` of a session, with a default or without."""

    there: bool
    """Missing where no class map is computed, and where a tool took the input for a constant."""
    any_classes: bool
    """One run explains one image for any number of classes."""

    @classmethod
    def of(cls, session: ort.InferenceSession) -> ClassInput:
        """Look at what the session can be fed."""
        inputs = [*session.get_inputs(), *session.get_overridable_initializers()]
        shapes = [value.shape for value in inputs if value.name == CLASS_INPUT]
        return cls(bool(shapes), [CLASSES] in shapes)
