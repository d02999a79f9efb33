"""The device's temperature, and whether it throttles, if the system reports them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

SYSTEM = Path("/sys")
_FIRMWARE = "devices/platform/soc/soc:firmware/get_throttled"
"""The throttling state of a Raspberry Pi, in hexadecimal; the lower four bits are the current state."""
_NOW = 0b1111
"""Voltage too low, frequency capped, throttled, soft temperature limit."""
_COLDEST, _HOTTEST = -40.0, 150.0
"""Plausible degrees; unconnected sensors report others."""


def temperatures(system: Path = SYSTEM) -> dict[str, float]:
    """Degrees Celsius by Linux sensor name, the hottest of each name; empty if there are none."""
    found: dict[str, float] = {}
    for zone in sorted(system.glob("class/thermal/thermal_zone*")):
        with suppress(OSError, ValueError):
            name = (zone / "type").read_text().strip()
            degrees = int((zone / "temp").read_text()) / 1000
            if _COLDEST < degrees < _HOTTEST:
                found[name] = max(degrees, found.get(name, degrees))
    return found


def throttled(system: Path = SYSTEM) -> bool | None:
    """Whether heat or low voltage slows down the device now; None if it does not report it."""
    with suppress(OSError, ValueError):
        return bool(int((system / _FIRMWARE).read_text(), 16) & _NOW)
    return None
