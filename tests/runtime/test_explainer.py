"""The Explainer on models whose results follow from the picture's colours."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from fastcam_runtime import ClassError, Explainer, FastcamError, ModelError, classes, contract
from fastcam_runtime.model import grafted
from support.tiny_grafts import GAIN, LABELS, make_graft, save_graft

SIZE = (32, 48)


def picture(seed: int = 3) -> np.ndarray:
    """A frame at the network's size, so that it is not resized; red is strongest."""
    frame = np.random.default_rng(seed).integers(0, 200, (*SIZE, 3), np.uint8)
    frame[..., 2] += 40
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def graft(folder: Path) -> Path:
    return save_graft(folder / "graft.onnx")


@pytest.mark.parametrize("batch", [1, 2, "n"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_everything_at_once(folder: Path, batch: int | str, layout: str) -> None:
    frame = picture()
    explanation = Explainer(save_graft(folder / "all.onnx", batch=batch, layout=layout), threads=1)(frame)
    rgb = frame[..., ::-1] / 255
    logits = GAIN * rgb.mean((0, 1))
    np.testing.assert_allclose(explanation.logits, logits, rtol=1e-5)
    assert (explanation.index, explanation.label) == (0, "red")
    assert explanation.score == pytest.approx(np.exp(logits[0]) / np.exp(logits).sum(), rel=1e-5)
    saliency = rgb.mean(-1)
    maps = explanation.maps
    np.testing.assert_allclose(maps[contract.MAP], saliency, atol=1e-6)
    pooled = saliency.reshape(16, 2, 24, 2).mean((1, 3))
    np.testing.assert_allclose(maps[contract.scale_output(1)], pooled, atol=1e-6)
    np.testing.assert_allclose(maps[contract.LOVI], rgb * 255, atol=1)
    np.testing.assert_allclose(maps[contract.CAM], rgb[..., 0], atol=1e-6)
    np.testing.assert_allclose(maps[contract.FASTCAM], saliency * rgb[..., 0], atol=1e-6)
    np.testing.assert_allclose(maps[contract.NONCLASS], saliency * (1 - rgb[..., 0]), atol=1e-6)
    assert set(explanation.timings) == {"preprocess", "inference"}
    assert min(explanation.timings.values()) > 0


def test_an_input_tensor_stays_while_two_more_are_filled(graft: Path) -> None:
    explain = Explainer(graft, threads=1)
    frames = [picture(seed) for seed in (3, 4, 5)]
    expected = [explain(frame).maps[contract.MAP] for frame in frames]
    tensors = [explain.preprocess(frame) for frame in frames]
    for ready, saliency in zip(tensors, expected, strict=True):
        explanation = explain.explain(ready)[0]
        np.testing.assert_array_equal(explanation.maps[contract.MAP], saliency)
        assert explanation.timings["preprocess"] == ready.milliseconds > 0


@pytest.mark.parametrize("batch", [1, 2, "n"])
def test_classes_by_index_label_and_part(folder: Path, batch: int | str) -> None:
    frame = picture()
    explain = Explainer(save_graft(folder / "classes.onnx", batch=batch), threads=1)
    rgb = frame[..., ::-1] / 255
    results = explain.explain(frame, classes=[2, "green", "RED", "lu"])
    assert [result.index for result in results] == [2, 1, 0, 2]
    scores = np.exp(GAIN * rgb.mean((0, 1)))
    for result in results:
        assert result.label == LABELS[result.index]
        np.testing.assert_allclose(result.maps[contract.CAM], rgb[..., result.index], atol=1e-6)
        assert result.score == pytest.approx(scores[result.index] / scores.sum(), rel=1e-4)


@pytest.mark.parametrize("choice", [1, np.int64(1), "green"])
def test_one_class_needs_no_list(graft: Path, choice: int | str) -> None:
    for wanted in (choice, [choice]):
        (result,) = Explainer(graft, threads=1).explain(picture(), wanted)
        assert result.label == "green"


def test_only_what_is_asked_for_is_computed(graft: Path) -> None:
    frame = picture()
    everything = Explainer(graft, threads=1)(frame)
    explain = Explainer(graft, threads=1, outputs=["fastcam"])
    assert [o.name for o in explain.model.session(["fastcam"]).get_outputs()] == ["logits", contract.FASTCAM]
    np.testing.assert_array_equal(explain(frame).maps[contract.FASTCAM], everything.maps[contract.FASTCAM])
    plain = explain.explain(frame, outputs=())[0]
    assert not plain.maps
    np.testing.assert_array_equal(plain.logits, everything.logits)
    scales = explain.explain(frame, outputs=["scales"])[0]
    assert list(scales.maps) == [contract.scale_output(1), contract.scale_output(2)]


def test_a_class_without_maps_still_has_its_score(graft: Path) -> None:
    explain = Explainer(graft, threads=1)
    frame = picture()
    with_maps, without = (explain.explain(frame, ["blue"], outputs)[0] for outputs in (["cam"], []))
    assert (without.label, without.score) == (with_maps.label, with_maps.score)


def test_sessions_are_kept_and_bounded(graft: Path) -> None:
    model = Explainer(graft, threads=1, outputs=["cam"]).model
    assert model.session(["cam"]) is model.session(["cam"])
    for words in (["lovi"], ["scales"], ["saliency_map"], ["nonclass"]):
        model.session(words)
    assert len(model._sessions) <= 3


def test_the_metadata_are_parsed_once_per_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = tuple(f"kind {i}" for i in range(3))
    path = save_graft(folder / "labels.onnx", labels=labels)
    parsed, loads = [], json.loads
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(text) or loads(text))
    contract.Metadata.from_json.cache_clear()
    explain = Explainer(path, threads=1, outputs=["cam"])
    for words in (["lovi"], ["scales"], []):
        explain.explain(picture(), outputs=words)
    explain.model.describe()
    assert explain.labels == labels
    assert len([text for text in parsed if "kind 1" in str(text)]) == 1


def test_frames_repeat_no_search(graft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, searched = [], []
    of, find = grafted.ClassInput.of, classes.find_class
    monkeypatch.setattr(grafted.ClassInput, "of", lambda session: looked.append(session) or of(session))
    monkeypatch.setattr(classes, "find_class", lambda *found: searched.append(found) or find(*found))
    explain = Explainer(graft, threads=1, outputs=["cam"])
    indices = [explain.explain(picture(seed), "blu")[0].index for seed in range(4)]
    assert indices == 4 * [LABELS.index("blue")]
    assert (len(looked), len(searched)) == (1, 1)
    explain.explain(picture(), outputs=["lovi"])
    assert len(looked) == 2


def test_probabilities_are_taken_as_they_are(folder: Path) -> None:
    frame = picture()
    logits = Explainer(save_graft(folder / "logits.onnx"), threads=1)(frame)
    probabilities = Explainer(save_graft(folder / "softmax.onnx", probabilities=True), threads=1)(frame)
    assert probabilities.score == pytest.approx(logits.score, rel=1e-5)
    assert probabilities.score == probabilities.logits[0]


@pytest.mark.parametrize(("red", "blue"), [(200, 100), (100, 200), (0, 255)])
def test_one_score_is_the_yes_of_yes_or_no(folder: Path, red: int, blue: int) -> None:
    path = save_graft(folder / "one.onnx", head="one", labels=("defect",), outputs=("saliency_map",))
    frame = np.zeros((*SIZE, 3), np.uint8)
    frame[..., 0], frame[..., 2] = blue, red
    explanation = Explainer(path, threads=1)(frame)
    assert (explanation.index, explanation.label) == (0, "defect")
    assert explanation.score == pytest.approx(1 / (1 + np.exp(GAIN * (blue - red) / 255)), rel=1e-4)


@pytest.mark.parametrize("labels", [(), LABELS])
def test_a_segmentation_tells_no_class(
    folder: Path, labels: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    path = save_graft(folder / "places.onnx", head="places", labels=labels, outputs=("saliency_map",))
    explanation = Explainer(path, threads=1)(picture())
    assert (explanation.index, explanation.label, explanation.score) == (None, "", None)
    assert explanation.logits.shape == (3, *SIZE)
    assert explanation.maps[contract.MAP].shape == SIZE
    assert not caplog.records


def test_huge_logits_do_not_overflow(folder: Path) -> None:
    path = save_graft(folder / "huge.onnx", preprocess=contract.Preprocess("RGB", (0.0,) * 3, (1e-3,) * 3))
    explanation = Explainer(path, threads=1)(picture())
    assert explanation.logits.max() > 1e6
    assert explanation.score == 1.0


@pytest.mark.parametrize("dtype", ["float16", "uint8"])
def test_input_types(folder: Path, dtype: str) -> None:
    preprocess = contract.PREPROCESS["raw255" if dtype == "uint8" else "unit"]
    path = save_graft(folder / f"{dtype}.onnx", dtype=dtype, preprocess=preprocess)
    frame = picture()
    saliency = Explainer(path, threads=1)(frame).maps[contract.MAP]
    unit = frame.mean(-1) if dtype == "uint8" else frame.mean(-1) / 255
    np.testing.assert_allclose(saliency, unit, rtol=2e-3)


def test_without_labels_the_index_is_the_label(folder: Path) -> None:
    explain = Explainer(save_graft(folder / "bare.onnx", labels=()), threads=1)
    assert explain(picture()).label == "class 0"
    with pytest.raises(ClassError, match="no labels, give an index"):
        explain.explain(picture(), ["red"])


@pytest.mark.parametrize("told_by_the_file", [True, False])
def test_more_labels_than_classes(
    folder: Path, told_by_the_file: bool, caplog: pytest.LogCaptureFixture
) -> None:
    model = make_graft(labels=(*LABELS, "surplus"))
    if not told_by_the_file:
        for index in (0, 1):
            model.graph.output[0].type.tensor_type.shape.dim[index].dim_param = f"free_{index}"
    path = folder / "surplus.onnx"
    onnx.save(model, path)
    explain = Explainer(path, threads=1)
    for _ in range(2):
        assert explain(picture()).label == LABELS[0]
    assert [record.message for record in caplog.records] == [
        f"{path}: 4 labels for 3 classes, so names may be wrong; export it with its own labels"
    ]
    for choice in ("surplus", "surp", 3):
        with pytest.raises(ClassError, match="no class"):
            explain.class_index(choice)


def test_an_explanation_cannot_be_changed(graft: Path) -> None:
    explanation = Explainer(graft, threads=1)(picture())
    with pytest.raises(dataclasses.FrozenInstanceError):
        explanation.score = 1.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        explanation.maps["saliency_map"] = np.zeros(1)  # type: ignore[index]


def test_maps_of_the_last_frame_survive_the_next(graft: Path) -> None:
    explain = Explainer(graft, threads=1)
    first = explain(picture(1))
    before = first.maps[contract.MAP].copy()
    explain(picture(2))
    np.testing.assert_array_equal(first.maps[contract.MAP], before)


@pytest.mark.parametrize("choice", [3, -1, "3", "-1", "purple", "re", "", 1.5, None])
def test_bad_classes_are_refused_before_anything_runs(graft: Path, choice: int | str) -> None:
    with pytest.raises(ClassError):
        Explainer(graft, threads=1).explain(np.zeros((0, 0, 3), np.uint8), [choice])


@pytest.mark.parametrize("batch", [1, 2, "N"])
def test_a_class_input_without_a_default(tmp_path: Path, batch: int | str) -> None:
    model = make_graft(batch=batch)
    default = [tensor for tensor in model.graph.initializer if tensor.name == contract.CLASS_INPUT]
    model.graph.initializer.remove(*default)
    onnx.save(model, tmp_path / "required.onnx")
    explain, frame = Explainer(tmp_path / "required.onnx", threads=1), picture()
    best = explain(frame)
    assert best.index is not None
    np.testing.assert_allclose(best.maps[contract.CAM], frame[..., 2 - best.index] / 255, atol=1e-6)
    for chosen, channel in zip(explain.explain(frame, ["red", "blue"]), (2, 0), strict=True):
        np.testing.assert_allclose(chosen.maps[contract.CAM], frame[..., channel] / 255, atol=1e-6)


def test_a_class_that_a_tool_made_a_constant_cannot_be_chosen(tmp_path: Path) -> None:
    model = make_graft()
    (taken,) = [value for value in model.graph.input if value.name == contract.CLASS_INPUT]
    model.graph.input.remove(taken)
    onnx.save(model, tmp_path / "simplified.onnx")
    explain = Explainer(tmp_path / "simplified.onnx", threads=1)
    assert explain(picture()).maps
    with pytest.raises(ModelError, match="a tool removed the input 'saliency_class'"):
        explain.explain(picture(), ["blue"])
    assert explain.explain(picture(), ["blue"], ["saliency_map"])[0].label == "blue"


def test_an_ort_file_works_but_cannot_be_cut(folder: Path, graft: Path) -> None:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "graft.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    ort.InferenceSession(str(graft), options, providers=["CPUExecutionProvider"])
    frame = picture()
    explain = Explainer(folder / "graft.ort", threads=1, outputs=["cam"])
    assert not explain.model.can_be_cut
    explanation = explain.explain(frame, ["blue"])[0]
    assert list(explanation.maps) == [contract.CAM]
    np.testing.assert_allclose(explanation.maps[contract.CAM], frame[..., 0] / 255, atol=1e-6)


class TestBadFiles:
    def test_missing(self, tmp_path: Path) -> None:
        (tmp_path / "something.onnx").touch()
        with pytest.raises(ModelError, match=r"nothing\.onnx: no such file; closest: something\.onnx"):
            Explainer(tmp_path / "nothing.onnx")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="is a folder, not a model's file"):
            Explainer(tmp_path)

    def test_a_name_that_is_no_utf8(self, tmp_path: Path) -> None:
        path = tmp_path / os.fsdecode(b"bad\xff.onnx")
        with pytest.raises(ModelError, match="the name is not UTF-8; rename it, or set PYTHONUTF8=1"):
            Explainer(path)

    @pytest.mark.parametrize("content", [b"", b"not a model at all", b"\x08\x09", bytes(1000)])
    @pytest.mark.parametrize("suffix", [".onnx", ".ort"])
    def test_no_model(self, tmp_path: Path, content: bytes, suffix: str) -> None:
        path = tmp_path / f"broken{suffix}"
        path.write_bytes(content)
        with pytest.raises(ModelError, match=f"broken{suffix}: "):
            Explainer(path)

    def test_cut_short(self, tmp_path: Path, graft: Path) -> None:
        path = tmp_path / "short.onnx"
        path.write_bytes(graft.read_bytes()[:-100])
        with pytest.raises(ModelError, match=r"short\.onnx"):
            Explainer(path)

    def test_never_grafted(self, tmp_path: Path) -> None:
        path = save_graft(tmp_path / "plain.onnx", graft=False)
        with pytest.raises(ModelError, match=r"fastcam export .*plain\.onnx"):
            Explainer(path)

    def test_damaged_metadata(self, tmp_path: Path) -> None:
        model = make_graft()
        model.metadata_props[0].value = model.metadata_props[0].value[:-5]
        onnx.save(model, tmp_path / "odd.onnx")
        with pytest.raises(ModelError, match=r"odd\.onnx: .*metadata is damaged"):
            Explainer(tmp_path / "odd.onnx")

    @pytest.mark.parametrize(
        "changed",
        [{"image": []}, {"image": None}, {"image": {}}, {"taps": 5}, {"taps": [3]}, {"preprocess": "raw255"},
         {"preprocess": {"order": "RGB", "mean": [0, 0, float("nan")], "std": [1, 1, 1]}}, {"version": None}],
    )  # fmt: skip
    def test_metadata_of_another_form(self, changed: dict[str, object], tmp_path: Path) -> None:
        model = make_graft()
        fields = json.loads(model.metadata_props[0].value)
        model.metadata_props[0].value = json.dumps(fields | changed)
        onnx.save(model, tmp_path / "odd.onnx")
        with pytest.raises(
            ModelError, match=r"odd\.onnx: .*(metadata is damaged|not only finite)"
        ) as refusal:
            Explainer(tmp_path / "odd.onnx")
        assert "\n" not in str(refusal.value)

    @pytest.mark.parametrize("text", ["null", "[]", "[" * 100_000, '{"version": 1e400}'])
    def test_metadata_that_is_no_object(self, text: str) -> None:
        with pytest.raises(ModelError):
            contract.Metadata.from_json(text)

    def test_metadata_of_another_network(self, tmp_path: Path) -> None:
        model = make_graft()
        for name, wrong in (('"scores":"logits"', '"scores":"prob"'), ('"name":"image"', '"name":"data"')):
            other = onnx.ModelProto.FromString(model.SerializeToString())
            assert name in other.metadata_props[0].value
            other.metadata_props[0].value = other.metadata_props[0].value.replace(name, wrong)
            onnx.save(other, tmp_path / "other.onnx")
            with pytest.raises(ModelError, match="is not there"):
                Explainer(tmp_path / "other.onnx")

    def test_missing_outputs_and_class_maps(self, tmp_path: Path) -> None:
        path = save_graft(tmp_path / "few.onnx", outputs=("saliency_map", "scales"))
        with pytest.raises(ModelError, match=r"has no lovi .*--outputs saliency_map,scales,lovi"):
            Explainer(path, outputs=["lovi"])
        with pytest.raises(ModelError, match="no output 'maps'; one of saliency_map"):
            Explainer(path, outputs=["maps"])
        with pytest.raises(
            ModelError, match=r"no class can be chosen.*--outputs saliency_map,scales,cam,fastcam"
        ):
            Explainer(path).explain(picture(), ["red"])

    def test_a_model_that_is_no_path(self, graft: Path) -> None:
        with pytest.raises(ModelError, match="a text or a Path, not bytes"):
            Explainer(graft.read_bytes())  # type: ignore[arg-type]

    def test_threads_and_provider(self, graft: Path) -> None:
        for threads, text in ((9999, "at most 8 for each of"), ("2", "'2', not a whole number")):
            with pytest.raises(FastcamError, match=text):
                Explainer(graft, threads=threads)  # type: ignore[arg-type]
        with pytest.raises(FastcamError, match="0 threads"):
            Explainer(graft, threads=0)
        with pytest.raises(FastcamError, match="'warp' is unknown; available: auto, cpu"):
            Explainer(graft, provider="warp")
