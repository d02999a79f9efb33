"""Frames that are kept as evidence: when, with which files, and within which limits."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer, FastcamError
from fastcam_runtime.classes import Prediction
from fastcam_runtime.cli.main import main
from fastcam_runtime.draw.views import available_views
from fastcam_runtime.live import evidence as live_evidence
from fastcam_runtime.live.controls import Controls
from fastcam_runtime.live.evidence import Evidence, Origin
from fastcam_runtime.live.keep_rules import parse_rule
from fastcam_runtime.sinks import Status
from fastcam_runtime.sinks.kept_folder import KeptFolder
from fastcam_runtime.sinks.leftovers import remove_unfinished, unfinished
from fastcam_runtime.sources import Frame
from support.looping import LiveCounter, Recorder, Screen, make_loop
from support.tiny_grafts import save_graft
from support.waiting import until


def status(label: str = "a", score: float = 0.5) -> Status:
    return Status(0, top=(Prediction(0, label, score),))


@pytest.mark.parametrize(
    ("rule", "scores"),
    [
        ("score<0.5", [0.1, 0.49]),
        ("score <= 50%", [0.1, 0.49, 0.5]),
        ("SCORE > .5", [0.51, 0.9]),
        ("score>=0.5", [0.5, 0.51, 0.9]),
    ],
)
def test_rules_about_the_score(rule: str, scores: list[float]) -> None:
    parsed = parse_rule(rule)
    assert [score for score in (0.1, 0.49, 0.5, 0.51, 0.9) if parsed.holds(status(score=score))] == scores
    assert not parsed.holds(Status(0))
    assert not parsed.holds(status(score=float("nan")))


def test_rule_about_the_label() -> None:
    rule = parse_rule(" label-changed ")
    labels = ["a", "a", "b", "b", "a", "c", "c"]
    assert [rule.holds(status(label)) for label in labels] == [False, False, True, False, True, True, False]


@pytest.mark.parametrize(("text", "seconds"), [("every 10s", 10), ("every 0.5 min", 30), ("every 2h", 7200)])
def test_rule_about_time(text: str, seconds: float) -> None:
    assert parse_rule(text).gap == seconds


@pytest.mark.parametrize(
    "text", ["", "score", "score<2", "score<150%", "every 0s", "every 5", "label", "x<1"]
)
def test_no_such_rule(text: str) -> None:
    with pytest.raises(
        FastcamError, match=r"keep-when .*(rules are score<0\.5, label-changed|between 0 and 1)"
    ):
        parse_rule(text)


@pytest.fixture
def origin(explainer: Explainer) -> Origin:
    return Origin(explainer.model.path, explainer.metadata, {"input": "0"})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_frames_are_kept_again_while_a_rule_holds(
    tmp_path: Path, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(live_evidence.time, "monotonic", lambda: now[0])
    sink = Evidence(KeptFolder(tmp_path), [parse_rule("score<0.5"), parse_rule("every 10s")], origin)
    kept: list[tuple[float, str]] = []
    monkeypatch.setattr(sink, "keep", lambda picture, status, reason: kept.append((now[0], reason)))
    for moment in np.arange(0, 12.01, 0.25):
        now[0] = float(moment)
        sink.write(np.zeros((4, 4, 3), np.uint8), status(score=0.1 if 2 <= moment < 4.2 else 0.9))
    assert kept == [(0, "every 10s"), *((t, "score<0.5") for t in (2, 3, 4)), (10, "every 10s")]


def run(model: Path, source: object, folder: Path, *options: object) -> list[dict[str, Any]]:
    """The manifests after a run."""
    arguments = [model, source, "null://", "--keep-in", folder, "--threads", "1", *options]
    assert main(["run", *map(str, arguments)]) == 0
    paths = sorted(folder.glob("*/manifest.json")) if folder.exists() else []
    return [json.loads(path.read_text()) for path in paths]


def test_what_is_kept_of_a_photo(tmp_path: Path) -> None:
    model = save_graft(tmp_path / "graft.onnx")
    photos = tmp_path / "photos"
    photos.mkdir()
    rng = np.random.default_rng(0)
    for name, colour in {"a": (0, 0, 200), "b": (200, 0, 0), "c": (10, 12, 11)}.items():
        picture = np.clip(np.array(colour) + rng.integers(0, 9, (64, 96, 3)), 0, 255).astype(np.uint8)
        cv2.imwrite(str(photos / f"{name}.png"), picture)
    kept = run(
        model,
        photos,
        tmp_path / "kept",
        "--keep-when",
        "score<0.9",
        "--view",
        "map",
        "--jsonl",
        tmp_path / "l.jsonl",
    )
    (manifest,) = kept
    assert manifest["file"].endswith("c.png")
    assert manifest["reason"] == "score<0.9"
    assert manifest["model"]["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert manifest["settings"]["view"] == "map"
    assert manifest["taps"] == [{"name": "x", "shape": [None, 3, 32, 48], "weight": 1.0}]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]+Z", manifest["time"])
    (folder,) = (tmp_path / "kept").iterdir()
    assert names(folder) == ["frame.png", "manifest.json", "maps.npz", "overlay.png"]
    np.testing.assert_array_equal(cv2.imread(str(folder / "frame.png")), cv2.imread(str(photos / "c.png")))
    # The maps and scores are those that the file gives for this frame.
    expected = Explainer(model, threads=1, outputs=["saliency_map"])(cv2.imread(str(folder / "frame.png")))
    with np.load(folder / "maps.npz") as arrays:
        assert set(arrays) == {"saliency_map", "scores"}
        np.testing.assert_array_equal(arrays["saliency_map"], expected.maps["saliency_map"])
        np.testing.assert_array_equal(arrays["scores"], expected.logits)
    line = json.loads((tmp_path / "l.jsonl").read_text().splitlines()[2])
    assert {key: manifest[key] for key in line} == line


def test_limits_of_a_run(tmp_path: Path) -> None:
    model = save_graft(tmp_path / "graft.onnx")
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(6):
        cv2.imwrite(str(photos / f"{number}.png"), np.full((64, 96, 3), 40 * number, np.uint8))
    kept = run(model, photos, tmp_path / "kept", "--keep-when", "every 1s", "--keep-files", 12)
    assert [Path(manifest["file"]).stem for manifest in kept] == ["3", "4", "5"]


def test_nothing_is_created_without_a_reason(tmp_path: Path, explainer: Explainer) -> None:
    assert (
        run(explainer.model.path, "test://", tmp_path / "kept", "--keep-when", "score>1", "--frames", 3) == []
    )
    assert not (tmp_path / "kept").exists()


def test_a_mistaken_rule_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "nowhere.onnx", "test://", "null://", "--keep-when", "score"]) == 2
    assert "keep-when 'score': no such rule; rules are score<0.5" in capsys.readouterr().err


class Levels(LiveCounter):
    """A camera whose frames have one gray level each."""

    def read(self) -> Frame | None:
        frame = super().read()
        return frame and replace(frame, image=np.full_like(frame.image, frame.index % 256))


@pytest.mark.parametrize(("paused", "recorded"), [(False, False), (True, False), (True, True)])
def test_the_button_keeps_what_is_on_the_screen(
    tmp_path: Path, explainer: Explainer, origin: Origin, paused: bool, recorded: bool
) -> None:
    controls = Controls(available_views(explainer.model), "map")
    folder = KeptFolder(tmp_path)
    evidence = Evidence(folder, (), origin)
    screen, record = Screen(), Recorder()
    sinks = [screen, record] if recorded else [screen]
    loop = make_loop(explainer, Levels(), *sinks, controls=controls, evidence=evidence)
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        until(lambda: len(screen.statuses) > 3)
        controls.set_paused(paused)
        if recorded:  # the screen holds its frame, the recording goes on
            until(lambda: len(record.statuses) > len(screen.statuses) + 5)
        elif paused:
            until(lambda: loop.metrics.age is not None and loop.metrics.age > 0.2)
        held = screen.statuses[-1].frame
        controls.request_keep()
        until(lambda: folder.kept())
    finally:
        controls.request_stop()
        thread.join(20)
    (kept,) = folder.kept()
    manifest = json.loads((kept.path / "manifest.json").read_text())
    assert manifest["reason"] == "button"
    if paused:
        assert manifest["frame"] == held
    assert manifest["frame"] in [shown.frame for shown in screen.statuses]
    frame, overlay = (cv2.imread(str(kept.path / name)) for name in ("frame.png", "overlay.png"))
    assert frame[0, 0, 0] == manifest["frame"] % 256
    np.testing.assert_array_equal(overlay, frame)  # the map in gray is the picture


def test_a_full_disk_ends_nothing(tmp_path: Path, origin: Origin, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    sink = Evidence(KeptFolder(tmp_path / "file"), [parse_rule("every 1s")], origin)
    sink.write(np.zeros((4, 4, 3), np.uint8), status())
    sink.close()
    assert "frame 0 was not kept: " in caplog.text
    assert names(tmp_path) == ["file"]


def test_a_slow_disk_does_not_slow_the_loop(
    tmp_path: Path, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Evidence(KeptFolder(tmp_path), (), origin)
    slow = threading.Event()
    monkeypatch.setattr(sink, "_write", lambda item: slow.wait(20))
    for _ in range(10):
        sink.keep(np.zeros((4, 4, 3), np.uint8), status())
    slow.set()
    sink.close()
    assert 4 <= sink.missed <= 6


def test_frames_that_a_killed_process_did_not_finish_are_deleted(tmp_path: Path) -> None:
    """Those of processes that run stay, and so does what is complete or of others."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    name = KeptFolder(tmp_path).new_name()
    dead = tmp_path / f".{name}.{gone.pid}.part"
    mine = unfinished(tmp_path, name)
    complete, other = tmp_path / name, tmp_path / ".somebody.part"
    for folder in (dead, mine, complete, other):
        folder.mkdir()
        (folder / "frame.png").write_bytes(b"x")
    remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([mine.name, complete.name, other.name])
    remove_unfinished(tmp_path / "nowhere")
