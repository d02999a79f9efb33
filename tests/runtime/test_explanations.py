"""The content of an Explanation: maps by name, repr, picture; and many frames at once."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import Explainer, Explanation, FastcamError, ModelError, SourceError, contract, overlay
from fastcam_runtime.explanation import Maps, NoMapError
from support.tiny_grafts import save_graft

SIZE = (32, 48)


def picture(seed: int, size: tuple[int, int] = SIZE) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 200, (*size, 3), np.uint8)


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> Explainer:
    return Explainer(save_graft(tmp_path_factory.mktemp("free") / "m.onnx", batch="n"), threads=1)


def test_maps_by_short_and_by_long_names(free: Explainer) -> None:
    maps = free(picture(0)).maps
    assert maps["cam"] is maps[contract.CAM]
    assert maps["map"] is maps[contract.MAP]
    assert maps["scale_1"] is maps[contract.scale_output(1)]
    assert "lovi" in maps
    assert maps.get("nothing") is None
    assert set(maps) == set(free.metadata.outputs)
    assert repr(maps).startswith("Maps(saliency_map 32×48, ")


def test_a_map_that_is_not_there_names_those_that_are() -> None:
    maps = Maps({contract.MAP: np.zeros((7, 7)), contract.LOVI: np.zeros((7, 7, 3), np.uint8)})
    with pytest.raises(NoMapError) as caught:
        maps["cam"]
    assert str(caught.value) == (
        "no map 'cam'; there are: saliency_map, saliency_lovi; "
        "export the file with --outputs all for all of them"
    )
    with pytest.raises(KeyError, match="closest: saliency_map"):
        maps["saliency_mop"]
    with pytest.raises(FastcamError, match="there are: none"):
        Maps({})["cam"]


@pytest.mark.parametrize(
    "names", ["cam", "saliency_map, saliency_cam", ["map", "saliency_cam", "cam"], ["saliency_scale_1"]]
)
def test_outputs_take_the_names_that_maps_take(free: Explainer, names: str | list[str]) -> None:
    if names == ["saliency_scale_1"]:
        with pytest.raises(ModelError, match="no output 'saliency_scale_1'; one of saliency_map, scales"):
            free.explain(picture(0), outputs=names)
        return
    found = [free.explain(picture(0), outputs=names)[0], free.batch([picture(0)], outputs=names)[0]]
    wanted = {contract.CAM} if names == "cam" else {contract.MAP, contract.CAM}
    assert [set(each.maps) for each in found] == [wanted, wanted]
    assert Explainer.of(free.model, names).outputs == contract.words_of(names)


def test_the_explainer_names_its_file_and_maps(free: Explainer) -> None:
    line = repr(Explainer.of(free.model, ["saliency_map", "saliency_cam"]))
    assert line == f"<Explainer: {free.model.path}; 32×48; saliency_map, cam>"


def test_explanations_can_be_compared_pickled_and_copied(free: Explainer) -> None:
    first, second = free.batch([picture(0), picture(0)])
    assert first == first
    assert first != second
    assert len({first, second}) == 2
    for again in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert repr(again) == repr(first)
        np.testing.assert_array_equal(again.maps["cam"], first.maps["cam"])


def test_the_line_is_short_and_tells_the_answer(free: Explainer) -> None:
    line = repr(free(picture(0)))
    assert len(line) < 200
    assert "\n" not in line
    for part in ("<Explanation: ", f"{free(picture(0)).label} ", "%; saliency_map, ", " ms>"):
        assert part in line
    assert "no maps" in repr(free.explain(picture(0), outputs=())[0])


def decoded(explanation: Explanation) -> np.ndarray:
    png = explanation._repr_png_()
    assert png is not None
    return cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)


def test_a_notebook_shows_the_map_over_the_frame(free: Explainer) -> None:
    frame = picture(0, (240, 320))
    explanation = free(frame)
    shown = decoded(explanation)
    expected = overlay(frame, explanation.maps["map"], explanation.geometry)
    assert shown.shape == frame.shape
    np.testing.assert_array_equal(shown[40:], expected[40:])  # the label is written above
    assert (shown[:20, :60] != expected[:20, :60]).any()
    assert decoded(free(picture(0, (900, 1600)))).shape == (540, 960, 3)


def test_a_notebook_without_the_frame_shows_the_map_alone(free: Explainer) -> None:
    frame = picture(0, (240, 320))
    (explanation,) = free.explain(free.preprocess(frame))
    assert explanation.frame is None
    assert decoded(explanation).shape == frame.shape
    assert free.explain(frame, outputs=())[0]._repr_png_() is None


def test_a_picture_that_could_not_be_read_is_told(free: Explainer) -> None:
    with pytest.raises(SourceError, match=r"^no picture: was the path right\?$"):
        free(cv2.imread("nowhere.jpg"))
    with pytest.raises(SourceError, match="no picture: was the path right"):
        overlay(None, np.zeros((7, 7), np.float32))  # type: ignore[arg-type]


@pytest.mark.parametrize("resize", contract.RESIZE)
def test_a_batch_gives_what_its_frames_give_alone(tmp_path: Path, resize: str) -> None:
    explain = Explainer(save_graft(tmp_path / "m.onnx", batch="n", resize=resize), threads=1)
    frames = [picture(1), picture(2, (60, 40)), picture(3, (33, 90))]
    together = explain.batch(frames)
    assert len(together) == len(frames)
    for frame, one in zip(frames, together, strict=True):
        alone = explain(frame)
        assert (one.label, one.geometry) == (alone.label, alone.geometry)
        np.testing.assert_allclose(one.logits, alone.logits, rtol=1e-5)
        assert list(one.maps) == list(alone.maps)
        for name in alone.maps:
            np.testing.assert_allclose(one.maps[name], alone.maps[name], atol=1e-5)


def test_a_batch_of_one_array_and_of_classes(free: Explainer) -> None:
    frames = np.stack([picture(1), picture(2)])
    labels = free.labels
    both = free.batch(frames, classes=[labels[1], 2])
    assert [one.label for one in both] == [labels[1], labels[2]]
    for frame, one in zip(frames, both, strict=True):
        (alone,) = free.explain(frame, classes=one.label)
        np.testing.assert_allclose(one.maps["cam"], alone.maps["cam"], atol=1e-6)
    assert [one.label for one in free.batch(frames, classes=labels[0])] == [labels[0]] * 2
    assert free.batch([]) == []
    with pytest.raises(FastcamError, match="1 classes for 2 frames"):
        free.batch(frames, classes=[labels[1]])


def test_several_frames_where_one_is_meant(free: Explainer) -> None:
    with pytest.raises(SourceError, match=r"one frame is needed, not 2: Explainer\.batch takes several"):
        free(np.stack([picture(1), picture(2)]))
    with pytest.raises(SourceError, match=r"Explainer\.batch"):
        free([picture(1)])  # type: ignore[arg-type]


@pytest.mark.parametrize("batch", [1, 2])
def test_a_file_with_a_fixed_batch_says_so(tmp_path: Path, batch: int) -> None:
    explain = Explainer(save_graft(tmp_path / "m.onnx", batch=batch), threads=1)
    frames = [picture(seed) for seed in range(3)]
    with pytest.raises(ModelError, match=rf"m\.onnx has a fixed batch of {batch}, not 3: call it once per"):
        explain.batch(frames)
    assert [one.label for one in explain.batch(frames[:batch])] == [
        explain(frame).label for frame in frames[:batch]
    ]
