"""Rate limit for clients that guess tokens."""

from __future__ import annotations

import hashlib
import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

FREE_GUESSES = 10
"""Wrong tokens per address without a penalty, for typing errors. The next one blocks the address for a
second, and each further one doubles that time."""
LONGEST_BLOCK = 60.0
"""Seconds."""
_FORGET_SECONDS = 900.0
_MOST_ADDRESSES = 1024
_REMEMBERED = 64
"""Most remembered wrong tokens per address; a repeated one counts once."""
_V6_PREFIX = 64
"""Network bits of an IPv6 address: a device may use any address of its network."""


@dataclass
class _Guesser:
    wrong: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    count: int = 0
    latest: float = 0.0
    blocked_until: float = 0.0


class Guesses:
    """Wrong tokens by address. All methods are thread-safe.

    A browser that holds an old token sends it twice a second; so the same wrong token counts once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guessers: OrderedDict[str, _Guesser] = OrderedDict()
        self._lock = threading.Lock()

    def seconds_blocked(self, address: str) -> float:
        """Seconds for which this address is blocked; 0 if it is not."""
        with self._lock:
            guesser = self._guessers.get(_network(address))
            return 0.0 if guesser is None else max(0.0, guesser.blocked_until - self._clock())

    def add(self, address: str, token: str) -> None:
        """Note a wrong token."""
        now = self._clock()
        digest = hashlib.sha256(token.encode(errors="replace")).digest()
        with self._lock:
            network = _network(address)
            guesser = self._guessers.pop(network, None)
            if guesser is None or now - guesser.latest > _FORGET_SECONDS:
                guesser = _Guesser()
            self._guessers[network] = guesser  # in order of the latest guess
            if len(self._guessers) > _MOST_ADDRESSES:
                self._guessers.popitem(last=False)
            guesser.latest = now
            if digest in guesser.wrong:
                return
            guesser.wrong[digest] = None
            if len(guesser.wrong) > _REMEMBERED:
                guesser.wrong.popitem(last=False)
            guesser.count += 1
            beyond = guesser.count - FREE_GUESSES
            if beyond > 0:
                guesser.blocked_until = now + min(LONGEST_BLOCK, 2.0 ** min(beyond - 1, 10))


def _network(address: str) -> str:
    """The key of one client: an IPv4 address, or the network of an IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, _V6_PREFIX), strict=False))
    return str(parsed)
