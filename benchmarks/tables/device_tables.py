"""The figures of int8 networks, the emulated board, browsers and OpenVINO as tables, for docs/costs.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..inputs.networks import NETWORKS
from .markdown import markdown_table, paragraph, percent_cell
from .targets import (
    GROWTH_LIMIT,
    INSTRUCTION_LIMITS,
    INT8_AIMS,
    INT8_LIMITS,
)

ResultJson = Mapping[str, Any]

OPENVINO_AIM = 25.0
BROWSER_HEAD = ("WebAssembly, one thread", "plain", "standard")


def int8_table(result: ResultJson) -> str:
    """What the maps cost on int8 networks, with the promises and aims."""
    config = result["config"]
    clock = "time" if config["clock"] == "wall" else "processor time"
    said = paragraph(
        "The same on int8 networks (QDQ, weights per channel, made as `fastcam quantize` does), in percent "
        f"of the plain int8 file's {clock}, on one thread; medians of {config['rounds']} differences. Scores "
        "are bit for bit those of the plain file."
    )
    rows = [int8_row(run) for run in result["int8"]]
    rows.append(["promised", "", "", *(f"{INT8_LIMITS[form]:g} %" for form in ("native", "prepared"))])
    rows.append(["aim", "", f"{INT8_AIMS['standard']:g} %", "", ""])
    return f"{said}\n\n{markdown_table(['network', 'plain', 'standard', 'compiled', 'prepared'], rows)}"


def int8_row(run: ResultJson) -> list[str]:
    """An int8 network and what the maps add in each form; no absolute time, because the machine was busy."""
    costs = (run["forms"].get(form) for form in ("standard", "native", "prepared"))
    return [
        f"{NETWORKS[run['network']].title}, int8",
        "",
        *("" if cost is None else f"{cost['percent']:+.1f} %" for cost in costs),
    ]


def instruction_table(result: ResultJson) -> str:
    """Instructions on the emulated board."""
    said = paragraph(
        "**Instructions, not time**: an emulated Cortex-A76 runs the real aarch64 packages, and a plugin of "
        "qemu counts. That is good for finding regressions and says nothing about caches, slow divisions or "
        "the clock of a board. In percent of the plain network's instructions per frame. `make bench` fails "
        f"if the maps take over {GROWTH_LIMIT:g} % more instructions than in the reference."
    )
    rows = []
    for name, one in result["networks"].items():
        network = name.removesuffix("-int8")
        title = NETWORKS[network].title + (", int8" if name != network else "")
        limit = INSTRUCTION_LIMITS.get(name)
        rows.append([
            title,
            f"{one['plain'] / 1e6:.0f} M",
            *(f"{one['forms'][form]['percent']:+.1f} %" for form in ("standard", "native", "default")),
            "" if limit is None else f"{limit:g} %",
        ])  # fmt: skip
    head = ["instructions", "plain", "standard", "compiled", "by default", "compiled, promised"]
    return f"{said}\n\n{markdown_table(head, rows)}"


def browser_table(result: ResultJson) -> str:
    """What the maps cost in a browser."""
    config, first = result["config"], result["browsers"][0]
    said = paragraph(
        "In a browser the standard form runs: WebAssembly loads no compiled kernels. int8 is slower than "
        f"float32 there. onnxruntime-web {first['onnxruntime_web']} with SIMD in Chromium "
        f"{first['chromium']}, {config['cpu']}; "
        f"medians of {config['rounds']} differences, in brackets the 95 % interval of the median. "
        "`fastcam bench --web` measures yours."
    )
    return f"{said}\n\n{markdown_table(BROWSER_HEAD, [browser_row(one) for one in result['browsers']])}"


def browser_row(one: ResultJson) -> list[str]:
    """A network, its time without maps, and what the maps add."""
    difference, plain = one["difference_ms"], one["plain_ms"]
    interval = [100 * value / plain for value in difference["interval"]]
    return [
        NETWORKS[one["network"]].title + (", int8" if one["int8"] else ""),
        f"{plain:.0f} ms",
        percent_cell(difference["percent"], interval),
    ]


def openvino_table(result: ResultJson) -> str:
    """What the maps cost in OpenVINO."""
    said = paragraph(
        f"In percent of the plain file's processor time in OpenVINO {result['openvino']}, float32, one "
        f"thread, medians of {result['rounds']} differences; in brackets the 95 % interval of the median. "
        "`benchmarks/compared/openvino_target.py` measures it, in an environment of its own. The aim for "
        f"`--target openvino` is {OPENVINO_AIM:g} %."
    )
    rows = [
        [
            NETWORKS[name].title,
            f"{one['plain_ms']:.1f} ms",
            *(percent_cell(one[form][0], one[form][1:]) for form in ("inline", "target")),
        ]
        for name, one in result["networks"].items()
    ]
    head = ["OpenVINO", "plain", "`--inline`", "`--target openvino`"]
    return f"{said}\n\n{markdown_table(head, rows)}"
