"""`fastcam web`: the options; write the site, or serve it."""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path
from typing import Any

from ..errors import FastcamError
from ..network.addresses import local_addresses
from ..network.certificate import Certificate
from ..web.ort_web import find_ort_web
from ..web.server import SiteServer
from ..web.site import check_model, write_site
from .https_options import add_https_options, chosen_certificate
from .signals import ended_by_signals

logger = logging.getLogger(__name__)

_EXAMPLES = """\
The page runs the network on the phone itself; no picture leaves it. Any static server can host it, and it
works offline after the first visit. Browsers allow camera access only on https pages and on localhost.

examples:
  fastcam web model-fastcam.onnx site/
  fastcam web model-fastcam.onnx --serve
  fastcam web model-fastcam.onnx --serve --https --address :8443
"""


def add_parser(commands: Any) -> None:
    """Add the sub-command to the parsers of `fastcam`."""
    parser = commands.add_parser(
        "web",
        help="a page for phones and browsers around a grafted file",
        description="Write a static site that runs a grafted file in the browser, or serve it.",
        epilog=_EXAMPLES,
    )
    parser.set_defaults(handler=run)
    parser.add_argument("model", metavar="MODEL", type=Path, help="a grafted ONNX file")
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", help="where to write the site")
    parser.add_argument("--serve", action="store_true", help="serve the site until Ctrl-C")
    add_https_options(parser)
    parser.add_argument(
        "--address", metavar="HOST:PORT", help="127.0.0.1:8000, with --https :8443; no host: all networks"
    )
    parser.add_argument("--ort", type=Path, metavar="DIR", help="the folder of the package onnxruntime-web")
    parser.add_argument(
        "--no-webgpu", dest="webgpu", action="store_false", help="leave out the larger build for WebGPU"
    )


def run(args: argparse.Namespace) -> int:
    """Write the site, and serve it if requested."""
    if args.folder is None and not args.serve:
        raise FastcamError("give a folder for the site, or --serve; see fastcam web --help")
    certificate = chosen_certificate(args) if args.serve or args.cert or args.key else None
    if check_model(args.model).quantized:
        logger.warning("%s is quantised: in a browser int8 is slower than float", args.model)
    with ended_by_signals():
        ort = find_ort_web(args.ort)
        if args.folder is not None:
            _write(args.model, args.folder, ort, webgpu=args.webgpu)
            if args.serve:
                _serve(args, args.folder, certificate)
            return 0
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "site"
            _write(args.model, folder, ort, webgpu=args.webgpu)
            _serve(args, folder, certificate)
    return 0


def _write(model: Path, folder: Path, ort: Path, *, webgpu: bool) -> None:
    size = write_site(model, folder, ort, webgpu=webgpu)
    kilobytes, wasm, network = size.page / 1e3, size.wasm / 1e6, size.model / 1e6
    logger.info(
        "%s: page %.0f kB, WebAssembly %.1f MB, model %.1f MB, as a browser fetches them",
        folder,
        kilobytes,
        wasm,
        network,
    )


def _serve(args: argparse.Namespace, folder: Path, certificate: Certificate | None) -> None:
    host, port = _parse_address(args.address or (":8443" if certificate else "127.0.0.1:8000"))
    server = SiteServer(folder, host, port, certificate=certificate)
    scheme = "https" if certificate else "http"
    for address in (host,) if host else local_addresses():
        print(f"{scheme}://{address}:{server.port}/", flush=True)
    try:
        server.wait()
    finally:
        server.close()


def _parse_address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise FastcamError(f"--address {text}: not HOST:PORT, e.g. 127.0.0.1:8000 or :8443")
    return host, int(port)
