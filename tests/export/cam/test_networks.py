"""Class maps of whole networks against torch's autograd in float64, at the last tap that is found."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from fastcam_export.analysis.candidates import candidates
from fastcam_export.analysis.ends import find_ends
from fastcam_export.analysis.geometry import geometries
from fastcam_export.analysis.shapes import concrete_shapes
from fastcam_export.analysis.taps import find_taps
from onnx import TensorProto, helper, numpy_helper
from support.cam_harness import autograd, session, textbook_cam, with_class_map
from support.paths import ROOT
from torch import nn

Part = Callable[[torch.Tensor], torch.Tensor]
CLASSES = 40
TOLERANCE = 1e-4
MODELS = ROOT / "models"


@dataclass(frozen=True)
class Network:
    """A network in two parts: `head(body(picture))` are the scores, with the last tap between the two."""

    module: nn.Module
    body: Part
    head: Part
    size: int
    dynamo: bool = False
    tap: str | None = None
    """The operator whose last output is the tap, if it is not the tap that is found."""


def resnet18(tv: ModuleType) -> Network:
    """GlobalAveragePool → Linear."""
    m = tv.models.resnet18(num_classes=CLASSES)
    body = nn.Sequential(m.conv1, m.bn1, m.relu, m.maxpool, m.layer1, m.layer2, m.layer3, m.layer4)
    return Network(m, body, nn.Sequential(m.avgpool, nn.Flatten(), m.fc), size=96)


def vgg16(tv: ModuleType) -> Network:
    """MaxPool, adaptive pool, three fully connected layers; all layers an eighth as wide."""
    plan = [8, 8, "M", 16, 16, "M", 32, 32, 32, "M", 64, 64, 64, "M", 64, 64, 64, "M"]
    m = tv.models.VGG(tv.models.vgg.make_layers(plan), num_classes=CLASSES)
    m.avgpool = nn.AdaptiveAvgPool2d(2)
    m.classifier = _narrowed(m.classifier, 64 * 4, 128)
    head = nn.Sequential(m.features[30:], m.avgpool, nn.Flatten(), m.classifier)
    return Network(m, m.features[:30], head, size=128)


def alexnet(tv: ModuleType) -> Network:
    """Overlapping MaxPool, an adaptive pool that does not divide (3 → 2), three fully connected layers."""
    m = tv.models.alexnet(num_classes=CLASSES)
    m.avgpool = nn.AdaptiveAvgPool2d(2)
    m.classifier = _narrowed(m.classifier, 256 * 4, 128)
    head = nn.Sequential(m.features[12:], m.avgpool, nn.Flatten(), m.classifier)
    return Network(m, m.features[:12], head, size=127, dynamo=True)


def mobilenet_v3_small(tv: ModuleType) -> Network:
    """A signed tap; pool, linear, HardSwish, linear."""
    m = tv.models.mobilenet_v3_small(num_classes=CLASSES)
    return Network(m, m.features, nn.Sequential(m.avgpool, nn.Flatten(), m.classifier), size=96)


def squeezenet1_1(tv: ModuleType) -> Network:
    """The last ReLU has one channel per class."""
    m = tv.models.squeezenet1_1(num_classes=CLASSES)
    body = nn.Sequential(m.features, m.classifier[:3])
    return Network(m, body, nn.Sequential(m.classifier[3], nn.Flatten()), size=96)


def squeezenet1_1_features(tv: ModuleType) -> Network:
    """Conv classifier, ReLU, pool."""
    m = tv.models.squeezenet1_1(num_classes=CLASSES)
    head = nn.Sequential(m.classifier, nn.Flatten())
    return Network(m, m.features, head, size=96, dynamo=True, tap="Concat")


def densenet121(tv: ModuleType) -> Network:
    m = tv.models.densenet121(num_classes=CLASSES)
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), m.classifier)
    return Network(m, nn.Sequential(m.features, nn.ReLU()), head, size=96)


def convnext(tv: ModuleType) -> Network:
    """A signed tap; pool, layer normalisation, linear."""
    setting = tv.models.convnext.CNBlockConfig
    m = tv.models.ConvNeXt(
        [setting(16, 32, 1), setting(32, 48, 1), setting(48, None, 1)], num_classes=CLASSES
    )
    return Network(m, m.features, nn.Sequential(m.avgpool, m.classifier), size=64, dynamo=True)


def group_normalised(tv: ModuleType) -> Network:
    """ResNet with group normalisations, which torch exports as reshapes to N×groups×rest and back."""
    m = tv.models.ResNet(
        tv.models.resnet.BasicBlock, [1, 1, 1, 1], CLASSES, norm_layer=lambda width: nn.GroupNorm(8, width)
    )
    body = nn.Sequential(m.conv1, m.bn1, m.relu, m.maxpool, m.layer1, m.layer2, m.layer3, m.layer4)
    return Network(m, body, nn.Sequential(m.avgpool, nn.Flatten(), m.fc), size=96, dynamo=True)


def _narrowed(classifier: nn.Sequential, features: int, width: int) -> nn.Sequential:
    """The same layers, the linear ones `width` wide."""
    layers, number = (
        list(classifier),
        [i for i, layer in enumerate(classifier) if isinstance(layer, nn.Linear)],
    )
    for i in number:
        layers[i] = nn.Linear(features if i == number[0] else width, CLASSES if i == number[-1] else width)
    return nn.Sequential(*layers)


NETWORKS = [
    resnet18, vgg16, alexnet, mobilenet_v3_small, squeezenet1_1, squeezenet1_1_features, densenet121,
    convnext, group_normalised,
]  # fmt: skip


def _lively(module: nn.Module) -> None:
    """Weights that let the scores vary: random statistics in BatchNorm, no dead layers, larger last rows."""
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_mean, -0.2, 0.2)
            nn.init.uniform_(layer.running_var, 0.5, 1.5)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
        elif isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.uniform_(layer.bias, -0.1, 0.1)


def _exported(network: Network) -> onnx.ModelProto:
    picture = torch.zeros(2, 3, network.size, network.size)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if network.dynamo:
            torch.onnx.export(
                network.module, (picture,), buffer, dynamo=True, verbose=False, input_names=["x"]
            )
        else:
            free = (
                {"x": {0: "n", 2: "h", 3: "w"}} if isinstance(network.head[0], nn.AdaptiveAvgPool2d) else {}
            )
            torch.onnx.export(
                network.module, (picture,), buffer, dynamo=False, opset_version=13,
                input_names=["x"], dynamic_axes=free or {"x": {0: "n"}},
            )  # fmt: skip
    return onnx.load_from_string(buffer.getvalue())


def _last_tap(proto: onnx.ModelProto, network: Network) -> str:
    if network.tap is not None:
        return [node.output[0] for node in proto.graph.node if node.op_type == network.tap][-1]
    model = ir.from_proto(proto)
    ends = find_ends(model, (2, 3, network.size, network.size))
    shapes = concrete_shapes(model, ends)
    geometry = geometries(ends, shapes)
    return find_taps(candidates(ends, shapes, geometry), ends, geometry)[-1].name


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small tensors: threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_network_equals_autograd(make: Callable[[ModuleType], Network], torchvision: ModuleType) -> None:
    torch.manual_seed(7)
    network = make(torchvision)
    network.module.eval()
    _lively(network.module)
    proto = _exported(network)
    tap = _last_tap(proto, network)
    network.module.double()
    pictures = np.random.default_rng(5).normal(size=(2, 3, network.size, network.size)).astype(np.float32)
    with torch.no_grad():
        features = network.body(torch.tensor(pictures).double()).numpy()
        scores = network.head(torch.tensor(features)).numpy()
    ranking = np.argsort(-scores, axis=1)
    for method in ("gradcam++", "gradcam"):
        runner = session(with_class_map(proto, tap, method=method))
        for rank in (0, 1, 2, 5):
            classes = ranking[:, rank]
            feeds = {"x": pictures} | ({"saliency_class": classes} if rank else {})
            (cam,) = runner.run(["cam"], feeds)
            expected = textbook_cam(features, autograd(network.head, features, classes), method)
            assert cam.shape == expected.shape
            assert expected.max(axis=(1, 2)).min() == 1, "a map of zeros compares nothing"
            assert np.abs(cam - expected).max() <= TOLERANCE


@pytest.mark.slow
def test_shipped_model_with_its_weights() -> None:
    """EfficientNet-Lite0 as it is shipped: the features of two pictures, then its head in float64."""
    proto = onnx.load(MODELS / "efficientnet-lite0.onnx")
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    weight = torch.tensor(arrays["classifier.weight.half"]).double()
    picture = proto.graph.input[0].name
    rng = np.random.default_rng(3)
    coarse = torch.tensor(rng.normal(size=(2, 3, 9, 9)).astype(np.float32))
    pictures = nn.functional.interpolate(coarse, size=224, mode="bicubic").numpy()
    for method in ("gradcam++", "gradcam"):
        grown = with_class_map(proto, "head.act", method=method)
        grown.graph.output.append(helper.make_tensor_value_info("head.act", TensorProto.FLOAT, None))
        runner = session(grown)
        for rank in (0, 1, 2, 5):
            scores, features = runner.run(["logits", "head.act"], {picture: pictures})
            classes = np.argsort(-scores, axis=1)[:, rank]
            feeds = {picture: pictures} | ({"saliency_class": classes} if rank else {})
            (cam,) = runner.run(["cam"], feeds)
            g = autograd(lambda a: a.mean((2, 3)) @ weight.T, features, classes)
            assert np.abs(cam - textbook_cam(features, g, method)).max() <= TOLERANCE
