"""Who may see the live page, and who may press its buttons."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from http import HTTPStatus
from urllib.parse import urlsplit

from ...errors import SinkError
from .http_request import Refusal, Request

_LOCAL_SUFFIXES = (".local", ".lan", ".internal", ".home.arpa")
"""What a local network appends to a machine's name; none of them can be registered by a stranger."""


class Access:
    """Decides by token, host and origin.

    Args:
        host: The address listened on.
        port: The port listened on; cookies do not tell ports apart, so it is part of the cookie's name.
        token: The password, or None for none.

    Raises:
        SinkError: the token holds characters that an address or a cookie cannot.
    """

    def __init__(self, host: str, port: int, token: str | None) -> None:
        if token is not None and not re.fullmatch(r"[0-9A-Za-z._~-]{1,128}", token):
            raise SinkError("the token may hold 1 to 128 letters, digits and . _ ~ -, which need no quoting")
        self._token = token
        self._cookie = f"fastcam_{port}"
        own = socket.gethostname().lower()
        self._names = {"localhost", host.lower(), own, *(own + suffix for suffix in _LOCAL_SUFFIXES)}

    def check(self, request: Request) -> None:
        """Let the request pass or raise `Refusal`."""
        if self._token is None:
            self._check_host(request)
        elif not self._knows_token(request):
            if "token" in request.query:
                raise Refusal(HTTPStatus.FORBIDDEN, "the token is wrong")
            raise Refusal(HTTPStatus.UNAUTHORIZED, "this page wants a token: open it as /?token=…")

    def cookie_for(self, request: Request) -> str | None:
        """The cookie to set where a request brought the right token in its address."""
        if self._token is None or not self._same(request.query.get("token", "")):
            return None
        return f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"

    def check_same_origin(self, request: Request) -> None:
        """Refuse a change that another site makes the browser ask for."""
        origin = request.headers.get("origin")
        try:
            elsewhere = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
        except ValueError:  # no address at all
            elsewhere = True
        if elsewhere:
            raise Refusal(HTTPStatus.FORBIDDEN, "asked from another site")
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refusal(HTTPStatus.FORBIDDEN, "asked from another site")

    def _knows_token(self, request: Request) -> bool:
        if self._same(request.query.get("token", "")):
            return True
        # Not by SimpleCookie: it stops at the first value it dislikes, and other services set theirs too.
        pairs = (part.partition("=") for part in request.headers.get("cookie", "").split(";"))
        return any(name.strip() == self._cookie and self._same(value.strip()) for name, _, value in pairs)

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    def _check_host(self, request: Request) -> None:
        """Refuse a name that is not this machine's.

        Otherwise a site could have its own name resolved to this address, and read the pictures as its own.
        """
        try:
            host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
            if host not in self._names:
                ipaddress.ip_address(host)
        except ValueError:
            raise Refusal(
                HTTPStatus.FORBIDDEN, "not a name of this machine; use its address, or a token"
            ) from None
