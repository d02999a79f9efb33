"""How hot the device is, and whether it slows itself down: where the system tells."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

SYSTEM = Path("/sys")
_FIRMWARE = "devices/platform/soc/soc:firmware/get_throttled"
"""The state of a Raspberry Pi, in hexadecimal; its lower four bits are of now, the others of the past."""
_NOW = 0b1111
"""Voltage too low, frequency capped, throttled, soft temperature limit."""
_COLDEST, _HOTTEST = -40.0, 150.0
"""Degrees that a sensor can mean; some without a chip behind them tell others."""


def temperatures(system: Path = SYSTEM) -> dict[str, float]:
    """Degrees Celsius by sensor, as Linux names them; empty where there are none. The hottest of a name."""
    found: dict[str, float] = {}
    for zone in sorted(system.glob("class/thermal/thermal_zone*")):
        with suppress(OSError, ValueError):
            name = (zone / "type").read_text().strip()
            degrees = int((zone / "temp").read_text()) / 1000
            if _COLDEST < degrees < _HOTTEST:
                found[name] = max(degrees, found.get(name, degrees))
    return found


def throttled(system: Path = SYSTEM) -> bool | None:
    """Whether heat or weak power slows the device down now; None if it does not tell."""
    with suppress(OSError, ValueError):
        return bool(int((system / _FIRMWARE).read_text(), 16) & _NOW)
    return None
