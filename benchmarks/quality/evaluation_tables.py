"""The results of `fastcam evaluate` on the shipped network, as text of docs/quality.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..tables.markdown import markdown_table, paragraph
from .reference import evaluation


def evaluation_section(folder: Path) -> str:
    """Sanity checks, class dependence, objects and flicker of EfficientNet-Lite0."""
    parts = [_sanity(folder), _objects(folder), _flicker(folder)]
    found = [part for part in parts if part]
    if not found:
        return ""
    head = "## Sanity checks, classes, objects, flicker\n\nEfficientNet-Lite0, by `fastcam evaluate`."
    return "\n\n".join([head, *found])


def _sanity(folder: Path) -> str:
    """The checks with Grad-CAM and with Grad-CAM++, as far as they were run."""
    parts = []
    for file, cam in (("lite0-imagenet.json", "gradcam"), ("lite0-gradcampp.json", "gradcam++")):
        content = evaluation(file, folder)
        if content is None:
            continue
        maps = list(content["edges"])
        rows = [
            [f"itself, weights shuffled: {step}", *(_mean(values[name]) for name in maps)]
            for step, values in content["sanity"].items()
        ]
        rows += [["that of another picture", *(_mean(content["other_picture"].get(name)) for name in maps)]]
        rows += [["the edge filter", *(_mean(content["edges"][name]) for name in maps)]]
        rows += [["itself for a random class", *(_mean(content["class_dependence"].get(n)) for n in maps)]]
        count = content["evaluated"]
        text = paragraph(
            f"Rank correlation of each map with the one in the row, {count} photos of imagenet200.zip "
            f"(`fastcam evaluate models/efficientnet-lite0.onnx imagenet200 --cam {cam} --count {count}`). A "
            "map that shows what was learnt changes with the weights; a class map changes with the class."
        )
        parts.append(f"{text}\n\n{markdown_table(['', *maps], rows)}")
    return "\n\n".join(parts)


def _objects(folder: Path) -> str:
    content = evaluation("lite0-coco.json", folder)
    if content is None:
        return ""
    metrics = {"pointing": "pointing", "energy": "energy inside", "pixel_auc": "pixel AUC"}
    rows = [
        [method, *(_compared(values[metric], method != "saliency_map") for metric in metrics)]
        for method, values in content["summary"].items()
        if "pointing" in values
    ]
    text = paragraph(
        f"Annotated objects of {content['evaluated']} photos of coco80.zip; any object counts (`fastcam "
        "evaluate models/efficientnet-lite0.onnx coco80/photos --boxes coco80/instances.json --no-sanity`). "
        "*Pointing*: the share of photos whose brightest pixel is on an object. In brackets the 95 % "
        "interval of the paired difference to `saliency_map`; one that includes 0 shows no difference."
    )
    return f"{text}\n\n{markdown_table(['map', *metrics.values()], rows)}"


def _flicker(folder: Path) -> str:
    content = evaluation("lite0-imagenet.json", folder)
    if content is None or not content["flicker"]:
        return ""
    rows = [
        [name, f"{one['plain']:.1f}", f"{one['smoothed']:.1f}", f"{one['correlation']:.3f}"]
        for name, one in content["flicker"].items()
    ]
    frames = next(iter(content["flicker"].values()))["frames"]
    text = paragraph(
        f"Change per frame of cars.mp4, in percent of the map's standard deviation ({frames} frames), and "
        "the correlation of the smoothed map with the plain one (the first command with `--video cars.mp4`). "
        "Smoothing of 0.7 is the default of `fastcam run` for videos and cameras."
    )
    return f"{text}\n\n{markdown_table(['map', 'plain', 'smoothed 0.7', 'correlation'], rows)}"


def _compared(one: dict[str, Any], compared: bool) -> str:
    """A mean, and the interval of its difference to the reference map."""
    gap = one["difference"]
    brackets = f" [{gap['low']:+.2f}, {gap['high']:+.2f}]" if compared else ""
    return f"{one['mean']:.2f}{brackets}".replace("-", "−")


def _mean(one: dict[str, Any] | None) -> str:
    return "" if one is None else f"{one['mean']:.2f}".replace("-", "−")
