"""Who may see the live page, and who may press its buttons."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import math
import re
import socket
from http import HTTPStatus
from urllib.parse import urlsplit

from ...errors import SinkError
from .guesses import Guesses
from .http_request import Refusal, Request

logger = logging.getLogger(__name__)

SHORTEST_SAFE = 16
"""Characters of a token that cannot be guessed."""
_LOCAL_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa")
"""Domains of local networks, which cannot be registered on the Internet."""


class Access:
    """Access control by token, host name and origin.

    Without a token there is no password. The port is part of the cookie's name, because cookies are shared
    between ports. A `secure` page is served by https only.

    Raises:
        SinkError: The token has characters that need quoting in a URL or a cookie.
    """

    def __init__(self, host: str, port: int, token: str | None, *, secure: bool = False) -> None:
        if token is not None and not re.fullmatch(r"[0-9A-Za-z._~-]{1,128}", token):
            raise SinkError("the token must be 1 to 128 letters, digits or any of . _ ~ -")
        if token is not None and len(token) < SHORTEST_SAFE:
            logger.warning(
                "the token has %d characters, which can be guessed; take %d or more (openssl rand -hex 16)",
                len(token),
                SHORTEST_SAFE,
            )
        self._token = token
        self._secure = secure
        self._guesses = Guesses()
        self._cookie = f"fastcam_{port}"
        own = socket.gethostname().lower()
        self._names = {"localhost", host.lower(), own, *(own + suffix for suffix in _LOCAL_SUFFIXES)}

    def check(self, request: Request) -> None:
        """Raise `Refusal` if the request is not allowed.

        While an address is blocked for its wrong tokens, even the right one is refused: otherwise guessing
        would go on as before.
        """
        if self._token is None:
            self._check_host(request)
            return
        given = self._given_tokens(request)
        if not given:
            raise Refusal(HTTPStatus.UNAUTHORIZED, "this page needs a token: open it as /?token=…")
        seconds = math.ceil(self._guesses.seconds_blocked(request.address))
        if seconds:
            raise Refusal(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"too many wrong tokens from your address; try again in {seconds} s",
                {"Retry-After": str(seconds)},
            )
        right = [self._same(token) for token in given]  # all of them: how long it takes tells nothing
        if not any(right):
            for token in given:
                self._guesses.add(request.address, token)
            if "token" in request.query:
                raise Refusal(HTTPStatus.FORBIDDEN, "the token is wrong")
            raise Refusal(HTTPStatus.UNAUTHORIZED, "this page needs a token: open it as /?token=…")

    def cookie_for(self, request: Request) -> str | None:
        """The cookie to set if the request has the right token in its URL."""
        if self._token is None or not self._same(request.query.get("token", "")):
            return None
        secure = "; Secure" if self._secure else ""
        return f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def check_same_origin(self, request: Request) -> None:
        """Refuse a change that another web site sends through the user's browser (CSRF)."""
        origin = request.headers.get("origin")
        try:
            elsewhere = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
        except ValueError:  # not a URL
            elsewhere = True
        if elsewhere:
            raise Refusal(HTTPStatus.FORBIDDEN, "asked from another site")
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refusal(HTTPStatus.FORBIDDEN, "asked from another site")

    def _given_tokens(self, request: Request) -> list[str]:
        """The tokens in the URL and in cookies."""
        # Not SimpleCookie: it stops at the first malformed value, and other services set cookies too.
        pairs = (part.partition("=") for part in request.headers.get("cookie", "").split(";"))
        cookies = [value.strip() for name, _, value in pairs if name.strip() == self._cookie]
        return [*([request.query["token"]] if "token" in request.query else []), *cookies]

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    def _check_host(self, request: Request) -> None:
        """Refuse a host name that is not this machine's.

        Otherwise a web site could resolve its own name to this address and read the pictures (DNS rebinding).
        """
        try:
            host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
            if host not in self._names:
                ipaddress.ip_address(host)
        except ValueError:
            raise Refusal(
                HTTPStatus.FORBIDDEN, "not a name of this machine; use its address, or a token"
            ) from None
