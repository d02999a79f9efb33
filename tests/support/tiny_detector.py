"""A small one-stage detector in torch, with the outputs of each family of heads.

Its class scores follow the colours of the picture: class 0 is red, 1 green, 2 blue. A coloured square on
black is found by the cells that it covers.
"""

from __future__ import annotations

import onnx
import torch
from torch import Tensor, nn

STRIDES = (8, 16, 32)
CLASSES = 3
SIZE = 96
"""Height and width of the input: grids of 12, 6 and 3."""


class TinyDetector(nn.Module):
    """Averages to each stride, two layers of features, then boxes, objectness and classes.

    Args:
        layout: `yolox`, `yolov8`, `yolov5`, `yolov5_joined` (one convolution for boxes, objectness and
            classes), `yolov5_planes` (raw N×k·V×h×w), `yolov5_raw` (N×k×h×w×V), `ssd`, `per_stride` or
            `end_to_end`.
        gain: How sharply scores follow colours.
        deep: The classes have two more layers of their own, as in a decoupled head.
    """

    def __init__(self, layout: str, gain: float = 12.0, *, deep: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layout = layout
        self.anchors = 3 if layout.startswith("yolov5") else 1
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        nn.init.normal_(self.stem.weight, std=0.05)
        nn.init.zeros_(self.stem.bias)
        for channel in range(3):
            self.stem.weight.data[channel, channel, 1, 1] += 1.0
        self.mixes = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in STRIDES)
        self.classes = nn.ModuleList(nn.Conv2d(8, self.anchors * CLASSES, 1) for _ in STRIDES)
        self.objects = nn.ModuleList(nn.Conv2d(8, self.anchors, 1) for _ in STRIDES)
        self.boxes = nn.ModuleList(nn.Conv2d(8, self.anchors * 4, 1) for _ in STRIDES)
        for mix, cls, obj, box in zip(self.mixes, self.classes, self.objects, self.boxes, strict=True):
            nn.init.normal_(mix.weight, std=0.03)
            nn.init.zeros_(mix.bias)
            nn.init.zeros_(cls.weight)
            nn.init.zeros_(obj.weight)
            nn.init.normal_(box.weight, std=0.02)
            nn.init.zeros_(box.bias)
            cls.bias.data.fill_(-gain / 2)
            obj.bias.data.fill_(-2.0)
            obj.weight.data[:, :3] = gain / 2
            for channel in range(3):
                mix.weight.data[channel, channel, 1, 1] += 1.0
                for anchor in range(self.anchors):
                    cls.weight.data[anchor * CLASSES + channel, channel] = gain

        self.own = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(8, 8, 3, padding=1, groups=8),
                nn.BatchNorm2d(8),
                nn.SiLU(),
                nn.Conv2d(8, 8, 3, padding=1),
            )
            if deep
            else nn.Identity()
            for _ in STRIDES
        )

    def features(self, x: Tensor) -> list[Tensor]:
        """The features of each stride that the head reads."""
        x = torch.relu(self.stem(x))
        return [torch.relu(nn.functional.avg_pool2d(x, stride)) for stride in STRIDES]

    def head(self, features: list[Tensor]) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Class logits, objectness logits and raw boxes of each stride, N×k·v×h×w."""
        return self.branches(self.mixed(features))

    def mixed(self, features: list[Tensor]) -> list[Tensor]:
        """What the branches of each stride read."""
        return [nn.functional.silu(mix(feature)) for mix, feature in zip(self.mixes, features, strict=True)]

    def branches(self, mixed: list[Tensor]) -> list[tuple[Tensor, Tensor, Tensor]]:
        return [
            (self.classes[k](self.own[k](m)), self.objects[k](m), self.boxes[k](m))
            for k, m in enumerate(mixed)
        ]

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        if self.layout == "yolov5_joined":
            return self._joined(self.mixed(self.features(x)))
        raw = self.head(self.features(x))
        return getattr(self, f"_{self.layout}")(raw, x.shape[2:])

    def rows(self, value: Tensor) -> Tensor:
        """N×k·v×h×w as N×k·h·w×v."""
        n, _, h, w = value.shape
        return value.view(n, self.anchors, -1, h * w).permute(0, 1, 3, 2).reshape(n, self.anchors * h * w, -1)

    def decoded(self, raw: list[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        """Centre and size in pixels, N×A×4."""
        parts = []
        for stride, (_, _, box) in zip(STRIDES, raw, strict=True):
            h, w = box.shape[2:]
            y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            cells = torch.stack([x, y], -1).view(-1, 2).float().repeat(self.anchors, 1)
            values = self.rows(box)
            centre = (values[..., :2] + cells + 0.5) * stride
            parts.append(torch.cat([centre, torch.exp(values[..., 2:]) * 2 * stride], -1))
        return torch.cat(parts, 1)

    def _yolox(self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size) -> Tensor:
        parts = [torch.cat([box, obj.sigmoid(), cls.sigmoid()], 1).flatten(2) for cls, obj, box in raw]
        return torch.cat(parts, 2).permute(0, 2, 1)

    def _yolov8(self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size) -> Tensor:
        classes = torch.cat([cls.flatten(2) for cls, _, _ in raw], 2).sigmoid()
        return torch.cat([self.decoded(raw).permute(0, 2, 1), classes], 1)

    def _yolov5(self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size) -> Tensor:
        scores = [torch.cat([self.rows(obj), self.rows(cls)], -1).sigmoid() for cls, obj, _ in raw]
        return torch.cat([self.decoded(raw), torch.cat(scores, 1)], -1)

    def _yolov5_planes(
        self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size
    ) -> tuple[Tensor, ...]:
        return tuple(part.flatten(1, 2) for part in self._by_anchor(raw))

    def _yolov5_raw(self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size) -> tuple[Tensor, ...]:
        return tuple(part.permute(0, 1, 3, 4, 2) for part in self._by_anchor(raw))

    def _by_anchor(self, raw: list[tuple[Tensor, Tensor, Tensor]]) -> list[Tensor]:
        """Box, objectness and classes of each anchor, N×k×V×h×w for each stride."""
        return [
            torch.cat([part.unflatten(1, (self.anchors, -1)) for part in (box, obj, cls)], 2)
            for cls, obj, box in raw
        ]

    def _joined(self, mixed: list[Tensor]) -> Tensor:
        """YOLOv5's Detect: one convolution per stride, a sigmoid over all of it, then the boxes."""
        rows = []
        for stride, m, *layers in zip(STRIDES, mixed, self.boxes, self.objects, self.classes, strict=True):
            parts = [
                (layer.weight[a * size : (a + 1) * size], layer.bias[a * size : (a + 1) * size])
                for a in range(self.anchors)
                for layer, size in zip(layers, (4, 1, CLASSES), strict=True)
            ]
            raw = nn.functional.conv2d(m, torch.cat([w for w, _ in parts]), torch.cat([b for _, b in parts]))
            n, _, h, w = raw.shape
            y = raw.view(n, self.anchors, 5 + CLASSES, h, w).permute(0, 1, 3, 4, 2).sigmoid()
            lines, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            centre = (y[..., :2] * 2 - 0.5 + torch.stack([columns, lines], -1)) * stride
            found = torch.cat([centre, (y[..., 2:4] * 2) ** 2 * 2 * stride, y[..., 4:]], -1)
            rows.append(found.reshape(n, -1, 5 + CLASSES))
        return torch.cat(rows, 1)

    def _ssd(self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size) -> tuple[Tensor, ...]:
        logits = torch.cat([torch.cat([-self.rows(obj), self.rows(cls)], -1) for cls, obj, _ in raw], 1)
        x, y, w, h = (self.decoded(raw) / SIZE).unbind(-1)
        return logits.softmax(-1), torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)

    def _per_stride(self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size) -> tuple[Tensor, ...]:
        scores = [self.rows(cls).sigmoid() for cls, _, _ in raw]
        distances = [torch.exp(self.rows(box)) for _, _, box in raw]
        return (*scores, *distances)

    def _end_to_end(self, raw: list[tuple[Tensor, Tensor, Tensor]], size: torch.Size) -> Tensor:
        scores = torch.cat([self.rows(cls) for cls, _, _ in raw], 1).sigmoid()
        x, y, w, h = self.decoded(raw).unbind(-1)
        boxes = torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)
        best, index = scores.max(-1)
        top, rows = best.topk(20, dim=1)
        chosen = boxes.gather(1, rows[..., None].expand(-1, -1, 4))
        return torch.cat([chosen, top[..., None], index.gather(1, rows)[..., None].float()], -1)


def export_tiny(
    layout: str, path: str, *, batch: int | None = 1, free_size: bool = False, deep: bool = False
) -> onnx.ModelProto:
    """Write the detector as an ONNX file; a batch of None is free."""
    import warnings

    module = TinyDetector(layout, deep=deep).eval()
    axes: dict[int, str] = {} if batch is not None else {0: "batch"}
    if free_size:
        axes |= {2: "height", 3: "width"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (torch.rand(batch or 2, 3, SIZE, SIZE),), path, dynamo=False, opset_version=17,
            input_names=["images"], dynamic_axes={"images": axes} if axes else None,
        )  # fmt: skip
    return onnx.load(path)
