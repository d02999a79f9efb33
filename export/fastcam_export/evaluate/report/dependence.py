"""How far a map depends on the class that is asked for."""

from __future__ import annotations

from enum import Enum

LITTLE_CHANGE, MUCH_CHANGE = 0.8, 0.5
"""A map whose correlation with that of another class is surely higher hardly depends on the class, and one
whose correlation is surely lower does."""


class Dependence(Enum):
    """What the interval of that correlation shows."""

    YES = "yes"
    PART = "in part"
    HARDLY = "hardly"
    OPEN = "open"

    @classmethod
    def of(cls, low: float, high: float) -> Dependence:
        """From the bounds of the interval."""
        if high < MUCH_CHANGE:
            return cls.YES
        if low > LITTLE_CHANGE:
            return cls.HARDLY
        return cls.PART if low > MUCH_CHANGE and high < LITTLE_CHANGE else cls.OPEN
