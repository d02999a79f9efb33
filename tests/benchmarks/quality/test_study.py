"""The study continues where it was stopped, with hand-made networks and measurements."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import pytest

from benchmarks.quality import study
from benchmarks.quality.studied import PlainNetwork, Studied

FAR = 600.0
"""More seconds than a test takes."""


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of every picture that was measured, which takes no network."""
    numbers: list[int] = []

    def judge(network: Studied, frame: Any, number: int) -> dict[str, dict[str, float]]:
        numbers.append(number)
        return {"map × Grad-CAM": {"score": number / 10}}

    monkeypatch.setattr(study, "judge", judge)
    return numbers


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with an archive of three photos."""
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        for number in range(3):
            photo = cv2.imencode(".jpg", np.full((8, 8, 3), 80 * number, np.uint8))[1]
            archive.writestr(f"{number}.jpg", photo.tobytes())
    return tmp_path


def _network(name: str, **more: Any) -> Studied:
    unused = cast(Any, None)
    return Studied(
        PlainNetwork(name, Path("none.onnx"), archive="photos.zip", **more), unused, unused, unused
    )


def _lines(results: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def test_a_second_run_measures_only_what_is_missing(data: Path, judged: list[int]) -> None:
    results, networks = data / "study.jsonl", [_network("A"), _network("B")]
    assert study.run(networks[:1], data, 2, results, FAR) == 2
    assert study.run(networks, data, 3, results, FAR) == 4
    assert judged == [0, 1, 0, 1, 2, 2]
    found = [(line["network"], line["number"]) for line in _lines(results)]
    assert found == [("A", 0), ("A", 1), ("B", 0), ("B", 1), ("A", 2), ("B", 2)]
    assert len({line["picture"] for line in _lines(results)}) == 3
    assert study.run(networks, data, 3, results, FAR) == 0


@pytest.mark.parametrize("left", [1, 30, -1])
def test_a_run_that_was_killed_while_writing_is_continued(data: Path, judged: list[int], left: int) -> None:
    """Half a line is measured again; a whole line that lacks only its end is not."""
    results, networks = data / "study.jsonl", [_network("A")]
    study.run(networks, data, 2, results, FAR)
    whole = results.read_bytes()
    first = whole.index(b"\n") + 1
    results.write_bytes(whole[:-1] if left == -1 else whole[: first + left])
    study.run(networks, data, 3, results, FAR)
    assert judged == ([0, 1, 2] if left == -1 else [0, 1, 1, 2])
    kept = [line for line in results.read_bytes().split(b"\n") if line.endswith(b"}}}")]
    assert [json.loads(line)["number"] for line in kept] == [0, 1, 2]
    assert study.run(networks, data, 3, results, FAR) == 0


def test_a_network_with_fewer_pictures_does_not_end_the_others(data: Path, judged: list[int]) -> None:
    results = data / "study.jsonl"
    assert study.run([_network("A", most=1), _network("B")], data, 3, results, FAR) == 4
    assert [line["network"] for line in _lines(results)] == ["A", "B", "B", "B"]


def test_no_picture_is_begun_when_the_time_is_up(data: Path, judged: list[int]) -> None:
    assert study.run([_network("A")], data, 3, data / "study.jsonl", -1) == 0
    assert not judged
