"""Where a live page listens, and how a person opens it."""

from __future__ import annotations

import logging
import socket
from urllib.parse import urlsplit

from ...errors import SinkError
from ...network.addresses import LOOPBACK, network_address

logger = logging.getLogger(__name__)


def parse_address(uri: str) -> tuple[str, int]:
    """Host and port of `http://[host]:port`."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SinkError(f"{uri}: {error}") from error
    if port is None or parts.path not in ("", "/") or parts.query or parts.username is not None:
        raise SinkError(
            f"{uri}: a live page is http://[host]:port, as in http://:8000 or http://0.0.0.0:8000"
        )
    return host or LOOPBACK, port


def reachable(host: str) -> str:
    """A host name for the browser; for a page on all interfaces, this machine's address in the network."""
    if host not in ("0.0.0.0", "::"):
        return f"[{host}]" if ":" in host else host
    return network_address() or socket.gethostname()


def announce(url: str, host: str, token: str | None) -> None:
    """Tell where the page is, and who can open it."""
    if host in (LOOPBACK, "localhost", "::1"):
        logger.info("live page at %s (this machine only; http://0.0.0.0:PORT opens it to the network)", url)
    elif token is None:
        logger.warning("live page at %s (open to everybody on the network; set a password with --token)", url)
    else:
        logger.info("live page at %s?token=… (open to the network, with this token)", url)
