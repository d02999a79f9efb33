"""A self-signed certificate: browsers allow camera access only on https pages."""

from __future__ import annotations

import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..errors import FastcamError
from ..user_cache import user_cache

_DAYS = 365


@dataclass(frozen=True)
class Certificate:
    """The files that a TLS server needs."""

    certificate: Path
    key: Path


def self_signed(addresses: tuple[str, ...]) -> Certificate:
    """A self-signed certificate for these addresses, made by `openssl` and cached.

    Raises:
        FastcamError: There is no `openssl`, or it failed.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise FastcamError("--https needs openssl, or your own certificate: --cert FILE --key FILE")
    folder = user_cache("web") / "certificate"
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    stem = "-".join(address.replace(":", "_") for address in addresses)
    made = Certificate(folder / f"{stem}.crt", folder / f"{stem}.key")
    still_good = [openssl, "x509", "-checkend", "86400", "-noout", "-in", str(made.certificate)]
    if made.key.is_file() and subprocess.run(still_good, capture_output=True).returncode == 0:
        return made
    names = ",".join(f"IP:{address}" for address in addresses)
    command = [
        *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", str(_DAYS), "-subj", "/CN=fastcam", "-addext", f"subjectAltName=DNS:localhost,{names}"),
        *("-keyout", str(made.key), "-out", str(made.certificate)),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise FastcamError(f"openssl made no certificate: {said}")
    made.key.chmod(0o600)
    return made


def local_addresses() -> tuple[str, ...]:
    """This machine's addresses: 127.0.0.1 first, then its address in the network."""
    addresses = ["127.0.0.1"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: only selects the interface
            addresses.append(str(probe.getsockname()[0]))
        except OSError:
            pass
    return tuple(dict.fromkeys(addresses))
