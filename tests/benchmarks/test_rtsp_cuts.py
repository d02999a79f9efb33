"""A real RTSP server that is killed, in short; `python -m benchmarks.endurance.rtsp_cuts` is the long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.endurance.rtsp_cuts import Cut, figures, find_python, run_cuts


@pytest.mark.slow
def test_the_loop_outlives_its_camera(tmp_path: Path) -> None:
    python = find_python()
    if python is None:
        pytest.skip("no GStreamer RTSP server: apt-get install gir1.2-gst-rtsp-server-1.0 python3-gi")
    cuts = run_cuts(python, 2, tmp_path / "figures.json")
    assert [cut.kind for cut in cuts] == ["kill", "kill"]
    assert cuts[0].files == cuts[1].files
    assert (tmp_path / "figures.json").is_file()


def test_figures_leave_the_first_cuts_out() -> None:
    cuts = [Cut("kill", 2.0, 100_000_000 + 1000 * min(number, 25), 11, 4) for number in range(30)]
    told = figures(cuts)
    assert (told["cuts"], told["frozen"]) == (30, 0)
    assert told["rss_growth_bytes"] == 5000  # from the 21st on
    assert told["open_files"] == [11, 11]
