"""The budget of the maps: a share of the network's own time, or milliseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fastcam_runtime.errors import FastcamError
from fastcam_runtime.measure.paired import Difference


@dataclass(frozen=True)
class Budget:
    """An upper limit for the median of the paired differences."""

    limit: float
    unit: str = "%"
    """`%` of the plain network's median, or `ms`."""

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read `5%`, `5` (percent too) or `0.5ms`.

        Raises:
            FastcamError: The text is none of these.
        """
        match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%|ms)?", text.strip())
        if match is None:
            raise FastcamError(f"budget {text!r}: give a share such as 5% or a time such as 0.5ms")
        return cls(float(match[1]), match[2] or "%")

    def allows(self, cost: Difference) -> bool:
        """Whether maps of this cost are within the budget."""
        return self.spent(cost) <= self.limit

    def is_close(self, cost: Difference, plain: float) -> bool:
        """Whether the limit lies inside the cost's 95 % interval; `plain` is the network's median in ms."""
        limit = self.limit * plain / 100 if self.unit == "%" else self.limit
        return cost.interval[0] <= limit < cost.interval[1]

    def spent(self, cost: Difference) -> float:
        """The cost in the budget's unit."""
        return cost.percent if self.unit == "%" else cost.median

    def __str__(self) -> str:
        return f"{self.limit:g} {self.unit}"
