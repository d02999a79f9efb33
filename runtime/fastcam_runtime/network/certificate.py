"""A self-signed certificate: browsers allow camera access only on https pages."""

from __future__ import annotations

import errno
import shutil
import socket
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..errors import FastcamError
from ..installation import user_cache

_DAYS = 365


@dataclass(frozen=True)
class Certificate:
    """The files that a TLS server needs."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """The settings for a server with this certificate.

        Raises:
            FastcamError: The files are missing, are not a certificate, or do not belong together.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            for file in (self.certificate, self.key):
                if file.is_fifo():  # OpenSSL would wait for ever if nobody writes
                    raise OSError(errno.EINVAL, f"{file} is a pipe")
            # Otherwise ssl would ask for the password of a key on the terminal.
            context.load_cert_chain(self.certificate, self.key, password=lambda: "")
        except OSError as error:  # the base class of all errors of ssl too
            reason = getattr(error, "reason", None) or error.strerror or error
            raise FastcamError(
                f"--cert {self.certificate} --key {self.key}: not a certificate in PEM form and its key "
                f"without a password ({reason})"
            ) from error
        return context


def self_signed(addresses: tuple[str, ...]) -> Certificate:
    """A self-signed certificate for these addresses, made by `openssl` and cached.

    Raises:
        FastcamError: There is no `openssl`, or it failed.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise FastcamError("--https needs openssl, or your own certificate: --cert FILE --key FILE")
    folder = user_cache("certificate")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    host = socket.gethostname()
    stem = "-".join([*(address.replace(":", "_") for address in addresses), host])
    made = Certificate(folder / f"{stem}.crt", folder / f"{stem}.key")
    still_good = [openssl, "x509", "-checkend", "86400", "-noout", "-in", str(made.certificate)]
    if made.key.is_file() and subprocess.run(still_good, capture_output=True).returncode == 0:
        return made
    names = [f"DNS:{name}" for name in dict.fromkeys(("localhost", host, f"{host}.local"))]
    names += [f"IP:{address}" for address in addresses]
    command = [
        *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", str(_DAYS), "-subj", "/CN=fastcam", "-addext", f"subjectAltName={','.join(names)}"),
        *("-keyout", str(made.key), "-out", str(made.certificate)),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise FastcamError(f"openssl made no certificate: {said}")
    made.key.chmod(0o600)
    return made
