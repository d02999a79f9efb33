"""Maps from fewer channels and fewer scales: the arithmetic against the oracle, and what the file says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fastcam_export import GraftError, export, graft
from fastcam_runtime.cli.main import main
from fastcam_runtime.contract import Metadata
from support.networks import network, small_cnn
from support.oracle import method
from support.running import metadata_of

TAPS = ("a1", "a2", "a3")
X = np.random.default_rng(1).standard_normal((1, 3, 64, 64)).astype(np.float32)


def run(model: onnx.ModelProto, names: Sequence[str]) -> dict[str, np.ndarray]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(list(names), {"input": X}), strict=True))


def activations(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    opened = onnx.ModelProto()
    opened.CopyFrom(model)
    opened.graph.output.extend(onnx.ValueInfoProto(name=name) for name in TAPS)
    return run(opened, TAPS)


CASES = {
    # share → the channels left of 8, 12 and 16, in multiples of four
    0.5: (4, 8, 8),
    0.25: (4, 4, 4),
    (0.5, 1, 1): (4, 12, 16),
    (0, 1, 1): (0, 12, 16),
    (0, 0.5, 1): (0, 8, 16),
    (0, 0, 0.3): (0, 0, 8),
}


@pytest.mark.slow
@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize(("share", "channels"), CASES.items(), ids=str)
def test_the_map_of_the_remaining_channels(
    share: float | tuple[float, ...], channels: tuple[int, ...], inline: bool
) -> None:
    model = small_cnn()
    tensors = activations(model)
    kept = [(tensors[tap][:, :n], k) for k, (tap, n) in enumerate(zip(TAPS, channels, strict=True), 1) if n]
    maps = [method.gauss(method.smoe(tensor)) for tensor, _ in kept]
    expected = method.combine(maps, [weight for _, weight in kept], 64, 64)
    grafted = graft(model, channel_share=share, inline=inline)
    np.testing.assert_allclose(run(grafted, ["saliency_map"])["saliency_map"], expected, atol=1e-5)


def test_the_weights_of_the_other_scales_stay() -> None:
    metadata = metadata_of(graft(small_cnn(), channel_share=(0, 1, 1), weights=[5, 7, 11]))
    assert [(tap.name, tap.weight) for tap in metadata.taps] == [("a2", 7), ("a3", 11)]


def test_the_class_map_keeps_its_layer() -> None:
    """Without the last scale in the combination, the class map still uses the same layer."""
    model = small_cnn()
    cams = [
        run(graft(model, outputs=["saliency_map", "cam"], channel_share=share), ["saliency_cam"])
        for share in (1.0, (1, 1, 0))
    ]
    np.testing.assert_array_equal(cams[0]["saliency_cam"], cams[1]["saliency_cam"])


WORDS = {
    1.0: "",
    (1, 1, 1): "",
    (0, 0.5, 1): "without scale 32×32; scale 16×16 from its first 8 of 12 channels",
}


@pytest.mark.slow
@pytest.mark.parametrize(("share", "words"), WORDS.items(), ids=str)
def test_the_file_says_what_was_left_out(
    share: float | tuple[float, ...],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    source, target = tmp_path / "plain.onnx", tmp_path / "out.onnx"
    onnx.save(small_cnn(), source)
    assert export(source, target, channel_share=share).metadata.approximation == words
    assert metadata_of(onnx.load(target)).approximation == words
    assert main(["inspect", str(target)]) == 0
    printed = capsys.readouterr().out
    caplog.set_level("INFO")
    assert main(["run", str(target), "test://?frames=1&size=64x64", "null://"]) == 0
    for text, said in ((printed, f"approximate {words}"), (caplog.text, f"approximate maps: {words}")):
        assert (said in text) if words else ("approximate" not in text)


def test_a_file_from_before_the_field_is_exact() -> None:
    text = metadata_of(graft(small_cnn())).to_json().replace('"approximation":"",', "")
    assert "approximation" not in text
    assert Metadata.from_json(text).approximation == ""


@pytest.mark.parametrize(
    "share", ["0.5", None, {"a": 1}, [0.5, None, 1], object()], ids=lambda share: type(share).__name__
)
def test_what_is_no_share_is_refused(share: Any) -> None:
    with pytest.raises(GraftError, match="channel_share must be a number, or a list of one per scale, not"):
        graft(small_cnn(), channel_share=share)


@pytest.mark.slow
@pytest.mark.parametrize("share", [np.float32(0.5), np.array([0.5, 0.5, 0.5]), [0.5, 0.5, np.float64(0.5)]])
def test_numbers_of_any_kind_are_shares(share: Any) -> None:
    assert metadata_of(graft(small_cnn(), channel_share=share)) == metadata_of(
        graft(small_cnn(), channel_share=0.5)
    )


def test_too_few_channels_to_thin() -> None:
    """Three channels are fewer than one group: all are read, and the file says so."""
    weights = np.random.default_rng(0).standard_normal((3, 3, 3, 3)).astype(np.float32)
    model = network(
        """
        c = Conv <kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]> (input, w)
        a = Relu (c)
        p = GlobalAveragePool (a)
        logits = Flatten (p)
        """,
        output="float[N,3] logits", w=weights,
    )  # fmt: skip
    assert metadata_of(graft(model, channel_share=0.5)).approximation == ""


@pytest.mark.parametrize(
    ("share", "message"),
    [
        ((1, 1), "2 channel shares for 3 scales"),
        (1.5, "from 0 to 1"),
        ((-0.5, 1, 1), "from 0 to 1"),
        (0.0, "leave a scale with a weight"),
        (float("nan"), "from 0 to 1"),
    ],
)
def test_mistakes(share: float | tuple[float, ...], message: str) -> None:
    with pytest.raises(GraftError, match=message):
        graft(small_cnn(), channel_share=share)


def test_a_remaining_scale_must_weigh_something() -> None:
    with pytest.raises(GraftError, match="leave a scale with a weight"):
        graft(small_cnn(), channel_share=(0, 1, 1), weights=[1, 0, 0])
