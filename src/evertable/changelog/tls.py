"""Why a broker's certificate is not accepted: librdkafka says only that it is not, so it is looked at once more."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

TIMEOUT_S = 2.0

# OpenSSL's numbers of what people meet.
_EXPIRED, _NOT_YET = 10, 9
_NAME, _ADDRESS = 62, 64
_AT = re.compile(r"\w+://([^/\s]+):(\d+)/")  # as librdkafka begins what it says of a connection


def why_not_trusted(properties: Mapping[str, Any], said: str) -> str:
    """What is wrong with the certificate of the broker that ``said`` (librdkafka's words) is about; "" if not known.

    ``properties`` are librdkafka's.
    """
    at = _AT.match(said)
    if at is None:
        return ""
    host, port = at[1].strip("[]"), int(at[2])
    try:
        context = _context(properties)
        with (
            socket.create_connection((host, port), TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return ""
    except ssl.SSLCertVerificationError as refused:
        return f"The certificate of {host}:{port} {_words(refused, host, properties)}"
    except (OSError, ValueError):
        return ""


def _words(refused: ssl.SSLCertVerificationError, host: str, properties: Mapping[str, Any]) -> str:
    if refused.verify_code == _EXPIRED:
        return "has expired"
    if refused.verify_code == _NOT_YET:
        return "is not valid yet, by this machine's clock"
    if refused.verify_code in (_NAME, _ADDRESS):
        return f"is for another host than {host}"
    given = "ssl.ca.location" in properties or "ssl.ca.pem" in properties
    known = "those in ssl.ca.location" if given else "those that this machine trusts"
    return f"is from an unknown authority, none of {known} ({refused.verify_message})"


def _context(properties: Mapping[str, Any]) -> ssl.SSLContext:
    location, text = properties.get("ssl.ca.location"), properties.get("ssl.ca.pem")
    if location in (None, "probe") and text is None:
        context = ssl.create_default_context()
    elif location not in (None, "probe") and Path(str(location)).is_dir():
        context = ssl.create_default_context(capath=str(location))
    else:
        context = ssl.create_default_context(cafile=location, cadata=text)
    if str(properties.get("ssl.endpoint.identification.algorithm", "https")) == "none":
        context.check_hostname = False
    certificate, key = properties.get("ssl.certificate.location"), properties.get("ssl.key.location")
    if certificate and key:
        with suppress(OSError):
            context.load_cert_chain(certificate, key, password=lambda: str(properties.get("ssl.key.password", "")))
    return context
