"""The addresses of this machine in the network."""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


def network_address() -> str | None:
    """This machine's address in its network; None without one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: the system only chooses the interface.
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return None


def local_addresses() -> tuple[str, ...]:
    """This machine's addresses: 127.0.0.1 first, then its address in the network."""
    return tuple(dict.fromkeys(filter(None, (LOOPBACK, network_address()))))
