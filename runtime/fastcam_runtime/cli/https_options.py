"""The https options of commands that serve pages."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from ..errors import FastcamError
from ..network.addresses import local_addresses
from ..network.certificate import Certificate, self_signed

logger = logging.getLogger(__name__)


def add_https_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the options that say whether to serve by https, and with which certificate."""
    parser.add_argument("--https", action="store_true", help="serve by https, with a self-signed certificate")
    parser.add_argument("--cert", type=Path, metavar="FILE", help="your own certificate, with --key")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its private key")


def chosen_certificate(args: argparse.Namespace) -> Certificate | None:
    """The certificate of the options, or a self-signed one; None for plain http.

    Raises:
        FastcamError: Only one of the two files is given, they are no certificate, or none can be made.
    """
    if (args.cert is None) != (args.key is None):
        raise FastcamError("--cert and --key belong together")
    if args.cert is not None:
        given = Certificate(args.cert, args.key)
        given.context()  # before the work whose result it is to serve
        return given
    if not args.https:
        return None
    logger.info("the certificate is self-signed: the browser asks once whether you trust it")
    return self_signed(local_addresses())
