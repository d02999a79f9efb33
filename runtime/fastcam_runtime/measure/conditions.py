"""Under which conditions a measurement was made: what else changes its figures."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..model.device import package_version
from . import thermal

_GOVERNOR = "devices/system/cpu/cpu0/cpufreq/scaling_governor"


def conditions(system: Path = thermal.SYSTEM) -> dict[str, Any]:
    """Version, date and state of the device now, in plain types; None where the system does not tell."""
    return {
        "version": package_version(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "governor": governor(system),
        "temperature_celsius": max(thermal.temperatures(system).values(), default=None),
        "throttled": thermal.throttled(system),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def governor(system: Path = thermal.SYSTEM) -> str | None:
    """How Linux chooses the clock of the first core, e.g. `performance`; None if it does not tell."""
    with suppress(OSError):
        return (system / _GOVERNOR).read_text().strip()
    return None


def describe(state: dict[str, Any]) -> str:
    """The conditions that may explain slow figures, in one line."""
    told = [f"{state['cores']} cores"]
    if state["load"] is not None:
        told.append(f"load {state['load']:.1f}")
    if state["governor"]:
        told.append(f"governor {state['governor']}")
    if state["temperature_celsius"] is not None:
        told.append(f"{state['temperature_celsius']:.0f} °C")
    if state["throttled"]:
        told.append("throttled")
    return ", ".join(told)
