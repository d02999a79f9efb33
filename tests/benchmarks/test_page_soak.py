"""The soak of the live page, in short: a real page, and visitors of another process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.endurance import page_soak


@pytest.mark.slow
def test_visitors_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["page_soak", "--hours", "0.02", "--json", str(report)])
    monkeypatch.setattr(page_soak, "LIMIT", 50_000_000)  # seven visits are all warm-up
    assert page_soak.main() == 0
    figures = json.loads(report.read_text())
    assert figures["visits"] == 7
    assert figures["pictures"] > 0
