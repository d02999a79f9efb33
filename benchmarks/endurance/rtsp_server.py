"""An RTSP server with a test picture in H.264, by GStreamer: `python3 rtsp_server.py PORT [WIDTHxHEIGHT]`.

It needs Python's GStreamer, which is a system package (Debian: python3-gi, gir1.2-gst-rtsp-server-1.0,
gstreamer1.0-plugins-base, -good and -ugly), so it is a separate program and imports nothing from fastcam. It
prints `waiting`, listens after a line on its standard input, and prints `ready`.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Serve until it is killed."""
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtspServer

    Gst.init(None)
    port, size = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "160x120")
    width, height = size.split("x")
    missing = [
        name for name in ("videotestsrc", "x264enc", "rtph264pay") if not Gst.ElementFactory.find(name)
    ]
    if missing:
        print(f"no {', '.join(missing)}", flush=True)
        return 1
    print("waiting", flush=True)
    sys.stdin.readline()
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_shared(True)
    factory.set_launch(
        f"( videotestsrc is-live=true ! video/x-raw,width={width},height={height},framerate=15/1 "
        "! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=5 ! rtph264pay name=pay0 pt=96 )"
    )
    server.get_mount_points().add_factory("/live", factory)
    if not server.attach(None):
        print(f"cannot listen on {port}", flush=True)
        return 1
    print("ready", flush=True)
    GLib.MainLoop().run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
