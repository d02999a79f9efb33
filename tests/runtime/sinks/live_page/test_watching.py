"""The live page's interfaces for programs: `/healthz` and `/metrics`; and recordings over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastcam_runtime.live import metrics as live_metrics
from fastcam_runtime.live.metrics import BUCKETS, STAGES
from fastcam_runtime.measure import thermal
from fastcam_runtime.sinks.encoders import formats
from fastcam_runtime.sinks.kept_folder import KeptFolder
from support.paging import Loop
from support.videos import frames_of
from support.waiting import until

DURATIONS = {"capture": 1.0, "preprocess": 2.0, "inference": 30.0, "overlay": 3.0, "sink": 4.0}


@pytest.fixture
def secret() -> Iterator[Loop]:
    running = Loop(token="s3cret-token")
    yield running
    running.close()


def test_health_is_good_only_while_frames_flow(secret: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the token: a container's health check has none."""

    def health() -> tuple[int, str]:
        response, content = secret.request("GET", "/healthz")
        return response.status, content.decode()

    now = [1000.0]
    monkeypatch.setattr(live_metrics.time, "monotonic", lambda: now[0])
    assert health() == (503, "no frame yet\n")
    for _ in range(3):
        now[0] += 0.1
        secret.metrics.add(DURATIONS, end_to_end=100.0)
    assert health() == (200, "ok\n")
    secret.controls.set_paused(True)
    assert health() == (503, "paused\n")
    secret.controls.set_paused(False)
    now[0] += 7.5
    assert health() == (503, "no frame for 7 s\n")
    assert secret.request("POST", "/healthz", "")[0].status == 405


SAMPLE = re.compile(r'([a-z_]+)((?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})?) (-?[0-9.e+-]+|\+Inf)')


def parse(text: str) -> dict[str, float]:
    """The samples of the text format; every one must follow its HELP and TYPE."""
    samples: dict[str, float] = {}
    kinds: dict[str, str] = {}
    described: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            described.add(line.split(" ")[2])
        elif line.startswith("# TYPE "):
            kinds[line.split(" ")[2]] = line.split(" ")[3]
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            family = re.sub("_(bucket|sum|count)$", "", match[1])
            assert match[1] in kinds or kinds[family] == "histogram"
            assert described == set(kinds)
            samples[match[1] + match[2]] = float(match[3])
    return samples


def test_metrics_are_what_the_loop_counted(
    secret: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = tmp_path / "class/thermal/thermal_zone0"
    zone.mkdir(parents=True)
    (zone / "type").write_text("cpu-thermal\n")
    (zone / "temp").write_text("61250\n")
    firmware = tmp_path / "devices/platform/soc/soc:firmware/get_throttled"
    firmware.parent.mkdir(parents=True)
    firmware.write_text("50004\n")
    monkeypatch.setattr(thermal.temperatures, "__defaults__", (tmp_path,))
    monkeypatch.setattr(thermal.throttled, "__defaults__", (tmp_path,))
    secret.metrics.dropped, secret.metrics.reconnects = 5, 2
    secret.metrics.add(DURATIONS, end_to_end=900.0, cold=True)
    for total in (45.0, 100.0, 7000.0):
        secret.metrics.add(DURATIONS, end_to_end=total, label="tabby")
    response, content = secret.request("GET", "/metrics")
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = parse(content.decode())
    assert samples["fastcam_frames_total"] == 4
    assert samples["fastcam_cold_frames_total"] == 1
    assert (samples["fastcam_dropped_frames_total"], samples["fastcam_reconnects_total"]) == (5, 2)
    whole = 'fastcam_latency_seconds{}{{stage="end_to_end"{}}}'
    assert samples[whole.format("_count", "")] == 3
    assert samples[whole.format("_sum", "")] == pytest.approx(7.145)
    buckets = [samples[whole.format("_bucket", f',le="{bound / 1e3}"')] for bound in BUCKETS]
    assert buckets == [0, 0, 0, 1, 2, 2, 2, 2, 2, 2]
    assert samples[whole.format("_bucket", ',le="+Inf"')] == 3
    stages = {stage.replace(" ", "_") for stage in STAGES}
    assert {re.search('stage="([a-z_]+)"', key)[1] for key in samples if "stage" in key} == stages  # type: ignore[index]
    assert samples['fastcam_temperature_celsius{sensor="cpu-thermal"}'] == 61.25
    assert samples["fastcam_throttled"] == 1
    for word in ("s3cret", "tabby", str(tmp_path)):
        assert word not in content.decode()


def test_temperature_and_throttling_where_nobody_tells(tmp_path: Path) -> None:
    assert thermal.temperatures(tmp_path) == {}
    assert thermal.throttled(tmp_path) is None
    zone = tmp_path / "class/thermal/thermal_zone3"
    zone.mkdir(parents=True)
    (zone / "type").write_text("broken\n")
    (zone / "temp").write_text("-274000\n")
    assert thermal.temperatures(tmp_path) == {}


def recorder(loop: Loop) -> dict[str, object]:
    return json.loads(loop.request("GET", "/status")[1])["recorder"]  # type: ignore[no-any-return]


@pytest.mark.slow
def test_recording_over_http(tmp_path: Path) -> None:
    kept = KeptFolder(tmp_path / "kept")
    loop = Loop(kept=kept)
    try:
        assert recorder(loop)["recordings"] == []
        assert not kept.path.exists()
        assert loop.control('{"recording": true}')[0] == 200
        until(lambda: recorder(loop)["seconds"] > 0.5)  # type: ignore[operator]
        assert loop.control('{"recording": false}')[0] == 200
        until(lambda: not recorder(loop)["recording"])
        (listed,) = recorder(loop)["recordings"]  # type: ignore[misc]
        response, content = loop.request("GET", f"/recordings/{listed['name']}")
        assert response.headers["Content-Disposition"] == f'attachment; filename="{listed["name"]}"'
        assert len(content) == listed["bytes"]
        (tmp_path / "downloaded.mp4").write_bytes(content)
        frames = frames_of(tmp_path / "downloaded.mp4")
        assert len(frames) > 5
        assert frames[0].shape == (480, 640, 3)
        (kept.path / "other.mp4").write_bytes(b"of somebody else")
        (tmp_path / "secret.txt").write_text("secret")
        for name in ("other.mp4", "../secret.txt", "..%2fsecret.txt", "", "20261118T025940-136Z.mp4"):
            assert loop.request("GET", f"/recordings/{name}")[0].status == 404, name
    finally:
        loop.close()


@pytest.mark.slow
def test_recording_is_finished_when_the_loop_ends(tmp_path: Path) -> None:
    loop = Loop(kept=KeptFolder(tmp_path))
    loop.control('{"recording": true}')
    until(lambda: recorder(loop)["seconds"] > 0.5)  # type: ignore[operator]
    loop.close()
    (path,) = tmp_path.iterdir()
    assert len(frames_of(path)) > 5


@pytest.mark.slow
def test_recording_ends_at_the_limit_and_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # H.264 would take minutes to fill a megabyte with these pictures.
    monkeypatch.setattr(formats, "FORMATS", {**formats.FORMATS, ".mp4": formats.Format((), ("mp4v",))})
    loop = Loop(kept=KeptFolder(tmp_path, megabytes=1))
    try:
        loop.control('{"recording": true}')
        until(lambda: recorder(loop)["error"])
        assert recorder(loop)["error"] == "the recording ended at the limit of 1 MB"
        assert not recorder(loop)["recording"]
        written = loop.written
        until(lambda: loop.written > written + 5)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1.1e6
    finally:
        loop.close()


def test_no_record_button_without_a_folder(loop: Loop) -> None:
    assert recorder(loop) is None
    status, content = loop.control('{"recording": true, "view": "map"}')
    assert (status, json.loads(content)["error"]) == (400, "there is no folder to keep anything in")
    assert loop.controls.view == "overlay"
    assert loop.request("GET", "/recordings/a.mp4")[0].status == 404


def test_choices_and_look(loop: Loop) -> None:
    choices = json.loads(loop.request("GET", "/choices")[1])
    assert choices["labels"][2] == "catfish"
    assert choices["colormaps"]["gray"] == [
        f"#{v:02x}{v:02x}{v:02x}" for v in (0, 32, 64, 96, 128, 159, 191, 223, 255)
    ]
    assert choices["colormaps"]["inferno"][0] == "#000004"  # as matplotlib has it
    assert loop.control('{"alpha": 0.25, "colormap": "gray"}')[0] == 200
    assert loop.controls.look == ("gray", 0.25)
    assert loop.control('{"alpha": 1}')[0] == 200
    assert loop.controls.look == ("gray", 1.0)
