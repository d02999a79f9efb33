"""Options as people write them: text or lists, the same in Python and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from fastcam_export import GraftError, Options, export, graft
from fastcam_export.errors import LoadError
from fastcam_runtime.cli.main import main
from support.networks import small_cnn
from support.refusals import refusal_of
from support.running import metadata_of

LABELS = tuple("abcdefghij")


def exported(tmp_path: Path, *argv: str, inputs: str = "float[1,3,64,64] input") -> tuple[int, Path]:
    source, target = tmp_path / "plain.onnx", tmp_path / "out.onnx"
    onnx.save(small_cnn(inputs), source)
    return main(["export", str(source), str(target), *argv]), target


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["1,2,4", "1, 2, 4", [1, 2, 4], np.array([1, 2, 4])])
def test_weights_may_be_text(weights: Any) -> None:
    assert [tap.weight for tap in metadata_of(graft(small_cnn(), weights=weights)).taps] == [1, 2, 4]


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", ["1,3,32,48", "1, 3, 32, 48", "1x3x32x48", [1, 3, 32, 48], np.array([1, 3, 32, 48])]
)
def test_the_input_shape_may_be_text(shape: Any) -> None:
    image = metadata_of(graft(small_cnn("float[N,3,H,W] input"), input_shape=shape)).image
    assert (image.height, image.width) == (32, 48)


@pytest.mark.slow
@pytest.mark.parametrize(
    "outputs",
    [
        "saliency_map, cam",
        ["saliency_map", "cam"],
        "saliency_map,saliency_cam",
        ["saliency_cam", "saliency_map"],
    ],
)
def test_outputs_by_word_or_by_their_name_in_the_file(outputs: Any, tmp_path: Path) -> None:
    expected = ("saliency_map", "saliency_cam")
    assert metadata_of(graft(small_cnn(), outputs=outputs)).outputs == expected
    if isinstance(outputs, str):
        code, target = exported(tmp_path, "--outputs", outputs)
        assert code == 0
        assert metadata_of(onnx.load(target)).outputs == expected


def test_taps_may_have_blanks_between_them() -> None:
    assert [tap.name for tap in metadata_of(graft(small_cnn(), taps="a1, a3")).taps] == ["a1", "a3"]


def test_numbers_of_numpy_are_numbers() -> None:
    assert metadata_of(graft(small_cnn(), epsilon=np.float32(0.5))).epsilon == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": "1e-3"}, "epsilon must be a number between 0 and 1, not '1e-3'"),
        ({"epsilon": 1e-46}, "epsilon 1e-46 is too small for float32: 1.2e-38 is the least"),
        ({"epsilon": float("nan")}, "epsilon must be a number between 0 and 1, not nan"),
        ({"cam_epsilon": "0"}, "cam_epsilon must be a number, 0 or more, not '0'"),
        ({"channel_share": "0.5"}, "channel_share must be a number, or a list of one per scale, not '0.5'"),
        ({"outputs": ""}, "no outputs requested: name some of saliency_map, "),
        ({"outputs": ["cam", 5]}, "no output named '5'; there are saliency_map, "),
        ({"statistic": None}, "no statistic named 'None'"),
        ({"weights": "1,b,3"}, "no weights named '1,b,3': use one of prior, equal, linear, or a list"),
        ({"weights": [1, "b", 3]}, "no weights in [1, 'b', 3]: use one of prior, equal, linear, or a list"),
        ({"weights": 5}, "no weights in 5: use one of prior, equal, linear, or a list"),
        ({"input_shape": [1, 3, "a", 4]}, "input shape [1, 3, 'a', 4]: four whole numbers are needed"),
        ({"input_shape": [1, 3, 64.5, 64]}, "input shape [1, 3, 64.5, 64]: four whole numbers are needed"),
        ({"input_shape": 224}, "input shape 224: four whole numbers are needed, such as 1,3,224,224"),
        ({"input_shape": "-1,3,64,64"}, "input shape -1,3,64,64: four positive numbers are needed"),
        ({"outputs": 5}, "expected names, as a list or a text with commas, not 5"),
        ({"taps": 5}, "expected names, as a list or a text with commas, not 5"),
        ({"taps": []}, "taps is empty: name tensors, shallow to deep, or auto"),
        ({"taps": " "}, "taps is empty"),
        ({"taps": "a1,a2,a1"}, "taps: 'a1' is named twice"),
        ({"taps": ["a3", "a1", "a2"]}, "taps a3,a1,a2 are not from shallow to deep: name a1,a2,a3"),
        ({"taps": "input,a1"}, "'input' is an input of the model and cannot be tapped: name a tensor behind"),
    ],
)  # fmt: skip
def test_mistakes(options: dict[str, Any], message: str) -> None:
    assert message in refusal_of(**options)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--weights", "-1,1,1"], "weights must be finite, not negative, and not all zero"),
        (["--weights", "-.5,1,1"], "weights must be finite, not negative, and not all zero"),
        (["--epsilon", "-1e-3"], "epsilon must be a number between 0 and 1, not -0.001"),
        (["--input-shape", "-1,3,64,64"], "input shape -1,3,64,64: four positive numbers are needed"),
    ],
)
def test_negative_numbers_reach_their_check(
    argv: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(tmp_path, *argv)[0] == 2
    assert message in capsys.readouterr().err
    if "--input-shape" in argv:
        assert main(["inspect", str(tmp_path / "plain.onnx"), *argv]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "idle"),
    [
        ({"cam_epsilon": 1e-7, "outputs": "cam", "cam": "gradcam++"}, ""),
        ({"cam_epsilon": 1e-7, "outputs": "cam", "cam": "gradcam"}, "cam_epsilon 1e-07: it belongs to"),
        ({"cam_epsilon": 1e-7}, "cam_epsilon 1e-07: none of cam, fastcam, nonclass is among the outputs"),
        ({"epsilon": 0.1, "statistic": "std"}, "epsilon 0.1: std has none"),
        ({"epsilon": 0.1, "statistic": "lognormal_mean"}, ""),
        ({"weights": "equal", "outputs": "cam,fastcam"}, ""),
        ({"weights": "equal", "outputs": "lovi"}, "weights equal: none of saliency_map, fastcam, noncl"),
        ({"statistic": "max", "outputs": "cam"}, "statistic max: none of saliency_map, fastcam, noncl"),
        ({"normalize": "range", "outputs": "cam"}, "normalize range: none of saliency_map, fastcam, noncl"),
        ({"channel_share": 0.5, "outputs": "cam"}, "channel_share 0.5: none of saliency_map, fastcam"),
        ({"channel_share": 0.5, "outputs": "scales"}, ""),
    ],
)  # fmt: skip
def test_what_has_no_effect_is_noted(options: dict[str, Any], idle: str, tmp_path: Path) -> None:
    """It really has no effect: the file is the same without the option."""
    done = export(small_cnn(), tmp_path / "a.onnx", **options)
    assert len(done.notes) == bool(idle)
    if idle:
        assert done.notes[0].replace(" has no effect", "").startswith(idle)
        name = idle.split()[0]
        export(small_cnn(), tmp_path / "b.onnx", **{k: v for k, v in options.items() if k != name})
        a, b = (onnx.load(tmp_path / f"{letter}.onnx").graph for letter in "ab")
        assert a == b
        assert done.metadata.approximation == ""


def with_embedding() -> onnx.ModelProto:
    """`small_cnn` with its pooled features as an output before the logits; then outputs without scores."""
    model = small_cnn()
    info = onnx.helper.make_tensor_value_info
    model.graph.output.insert(0, info("flat", onnx.TensorProto.FLOAT, ["N", 16]))
    model.graph.node.append(onnx.helper.make_node("Identity", ["w4"], ["fixed"]))
    model.graph.output.append(info("fixed", onnx.TensorProto.FLOAT, [10, 16]))
    model.graph.node.append(onnx.helper.make_node("ArgMax", ["logits"], ["best"], axis=1))
    model.graph.output.append(info("best", onnx.TensorProto.INT64, ["N", 1]))
    return model


def test_the_scores_may_be_named(tmp_path: Path) -> None:
    done = export(with_embedding(), tmp_path / "out.onnx", scores="logits", labels=LABELS, outputs="cam")
    assert (done.metadata.scores, done.metadata.labels, done.notes) == ("logits", LABELS, ())
    done = export(with_embedding(), tmp_path / "out.onnx")
    assert done.metadata.scores == "flat"
    assert done.notes == ("'flat' is used as the class scores; choose another with --scores: logits",)
    for options, message in (
        (
            {"scores": "logit"},
            "no output named 'logit'; closest: logits, flat; there are flat, logits",
        ),
        ({"scores": "best"}, "the output 'best' holds no scores: its elements are INT64"),
        ({"scores": "fixed"}, "the output 'fixed' does not depend on the picture: it holds no scores"),
        (
            {"labels": LABELS},
            "10 labels for 16 classes of flat; if the scores are in logits, say --scores logits",
        ),
    ):
        with pytest.raises(GraftError) as refusal:
            graft(with_embedding(), **options)
        assert message in str(refusal.value)


def test_the_scores_may_be_named_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "plain.onnx"
    onnx.save(with_embedding(), source)
    assert main(["inspect", str(source), "--scores", "logits"]) == 0
    assert "scores  logits  logits" in capsys.readouterr().out
    assert main(["export", str(source), str(tmp_path / "out.onnx"), "--scores", "logits"]) == 0
    assert metadata_of(onnx.load(tmp_path / "out.onnx")).scores == "logits"


@pytest.mark.parametrize(
    "kind", [lambda proto: proto, onnx.ModelProto.SerializeToString, ir.from_proto, lambda _: "plain.onnx"]
)
def test_an_example_is_for_torch_models(kind: Callable[[onnx.ModelProto], object]) -> None:
    with pytest.raises(LoadError, match="an example input is for torch models"):
        graft(kind(small_cnn()), example=np.zeros((1, 3, 64, 64)))


def test_an_example_makes_no_model_of_something_else() -> None:
    with pytest.raises(LoadError, match="cannot load a int: a path, an ONNX model or a torch module"):
        graft(5, example=np.zeros((1, 3, 64, 64)))


@pytest.mark.slow
def test_a_class_map_that_nobody_asked_for_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "note: cam gradcam++ has no effect: none of cam, fastcam, nonclass is among the outputs\n"
    assert exported(tmp_path, "--cam", "gradcam++")[0] == 0
    assert capsys.readouterr().err == note
    assert exported(tmp_path, "--cam", "gradcam++", "--outputs", "fastcam")[0] == 0
    assert capsys.readouterr().err == ""
    assert export(small_cnn(), tmp_path / "out.onnx").notes == ()
    assert Options(cam="gradcam++").notes == (note.removeprefix("note: ").rstrip(),)


def test_the_class_map_is_chosen_by_the_network_and_paper_takes_all_choices_of_the_paper() -> None:
    assert Options().cam is None
    paper = Options(paper=True, outputs="saliency_map,cam")
    chosen = paper.statistic, paper.normalize, paper.weights, paper.epsilon, paper.cam
    assert chosen == ("smoe", "gauss", "prior", 1e-6, "gradcam++")
    assert paper.notes == Options(paper=True).notes == ()
    assert Options(paper=True, cam="gradcam++") == Options(paper=True)


@pytest.mark.parametrize("other", [{"statistic": "std"}, {"weights": "equal"}, {"epsilon": 1e-7}])
def test_another_choice_beside_paper_is_refused(other: dict[str, Any]) -> None:
    (name,) = other
    with pytest.raises(GraftError, match=f"paper takes {name} .*, not {other[name]}"):
        Options(paper=True, **other)


@pytest.mark.parametrize("statistic", ["shannon", "lognormal_entropy"])
def test_a_statistic_that_did_poorly_is_noted_where_it_is_used(statistic: str) -> None:
    (note,) = Options(statistic=statistic).notes
    assert note.startswith(f"{statistic} gives clearly worse maps than smoe")
    assert not any("worse maps" in note for note in Options(statistic=statistic, outputs="cam").notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "scales"),
    [
        ("float[N,3,H,W] input", "3 scales of free size, outputs saliency_map"),
        ("float[N,3,H,64] input", "3 scales (free×32, free×16, free×8), outputs saliency_map"),
    ],
)
def test_free_sizes_are_said_in_words(
    inputs: str, scales: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, target = exported(tmp_path, inputs=inputs)
    assert code == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{target}: {scales}"


def test_a_target_complains_of_nothing_that_was_not_asked_for() -> None:
    assert Options(target="web").notes == ()
    assert Options(target="web", outputs="cam").class_input == "required"
