"""The live page: one picture for any number of viewers, its controls, and the HTTP server under it."""

from __future__ import annotations

import os

from ..base import Sink, SinkKind, SinkOptions


def open_page(uri: str, options: SinkOptions) -> Sink:
    """Open `http://[host]:port`."""
    # Late, because most runs need no HTTP server.
    from .page import LivePage
    from .recorder import Recorder

    # An empty variable means no token; an empty --token is a mistake, and LivePage refuses it.
    token = os.environ.get("FASTCAM_TOKEN") or None if options.token is None else options.token
    recorder = None
    if options.kept is not None:
        recorder = Recorder(options.kept, options.fps, real_time=options.real_time)
    return LivePage(
        uri,
        options.controls,
        token,
        metrics=options.metrics,
        recorder=recorder,
        certificate=options.certificate,
    )


PAGE = SinkKind(
    {
        "http://:8000": "a live page for this machine",
        "http://0.0.0.0:8000": "a live page for the network",
    },
    open_page,
    schemes=("http",),
    interactive=True,
)
