"""The figures of int8 networks and of the emulated board as Markdown tables, for docs/costs.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..inputs.networks import NETWORKS
from .markdown import markdown_table, paragraph
from .targets import (
    GROWTH_LIMIT,
    INSTRUCTION_LIMITS,
    INT8_AIMS,
    INT8_LIMITS,
)

ResultJson = Mapping[str, Any]

WASM = """\
| onnxruntime-web 1.30, wasm with SIMD, one thread | plain | standard |
| --- | --: | --: |
| EfficientNet-Lite0 | 56 ms | +6.9 % |
| MobileNetV2 | 39 ms | +7.2 % |
| EfficientNet-Lite0, int8 | 77 ms | +10 % |
| MobileNetV2, int8 | 77 ms | +12 % |"""
"""Measured once in Chromium, with the files of 0.1.0; there are no compiled kernels in a browser."""


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


def browser_table() -> str:
    """Browsers."""
    said = paragraph(
        "In a browser the standard form runs: WebAssembly loads no compiled kernels. int8 is slower than "
        "float32 there. Measured once in Chromium with the files of 0.1.0; `fastcam bench --web` measures "
        "yours."
    )
    return f"{said}\n\n{WASM}"
