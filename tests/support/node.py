"""Run the package's JavaScript in node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fastcam_runtime.errors import FastcamError
from fastcam_runtime.web.assets import asset_folder
from fastcam_runtime.web.ort_web import find_ort_web

_PRELUDE = """
import {{ readFileSync, writeFileSync }} from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
const web = (name) => import({folder} + name);
const bytes = (path) => new Uint8Array(readFileSync(path));
const answer = await (async () => {{ {body} }})();
process.stdout.write(JSON.stringify(answer));
"""


LOAD_MODEL = """
const ort = await import("file://" + given.ort + "/ort.wasm.min.mjs");
ort.env.wasm.numThreads = 1;
const { load } = await web("fastcam.js");
const model = await load(bytes(given.model), { ort });
const picture = { data: bytes(given.frame), width: given.width, height: given.height };
"""
"""The beginning of a body that explains `frame` by `model`, with the onnxruntime-web in the folder `ort`."""


def run_node(body: str, **given: Any) -> Any:
    """What JavaScript returns; `given` has the keywords, `web("classes.js")` imports one of our modules.

    Skips the test if there is no node.
    """
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run JavaScript with")
    script = _PRELUDE.format(folder=json.dumps(f"{asset_folder().as_uri()}/"), body=body)
    done = subprocess.run(
        [node, "--input-type=module", "--eval", script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ort_web() -> Path:
    """The files of onnxruntime-web; skips the test if they are missing."""
    try:
        return find_ort_web()
    except FastcamError as error:
        pytest.skip(str(error))
