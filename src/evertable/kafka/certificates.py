"""Why a certificate is not accepted, a broker's or our own: all that librdkafka says is that it is not."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

TIMEOUT_S = 2.0

# OpenSSL's numbers of what people meet.
_EXPIRED, _NOT_YET = 10, 9
_NAME, _ADDRESS = 62, 64
_TIMES = re.compile(rb"\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z")  # in a certificate: from when, then until when it is valid
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


def why_not_accepted(properties: Mapping[str, Any], now: datetime) -> str:
    """What is wrong with the certificate of this client; "" if not known. Brokers are shy to tell."""
    try:
        text = properties.get("ssl.certificate.pem") or Path(str(properties["ssl.certificate.location"])).read_text()
        begin = str(text).index(ssl.PEM_HEADER)
        encoded = ssl.PEM_cert_to_DER_cert(str(text)[begin : str(text).index(ssl.PEM_FOOTER) + len(ssl.PEM_FOOTER)])
        from_when, until = (_time(*found) for found in _TIMES.findall(encoded)[:2])
    except (OSError, ValueError, KeyError):
        return ""
    if now > until:
        return f"it has expired, on {until:%Y-%m-%d}"
    return f"it is not valid before {from_when:%Y-%m-%d}" if now < from_when else ""


def _time(short: bytes, long: bytes) -> datetime:
    parsed = (
        datetime.strptime(long.decode(), "%Y%m%d%H%M%S") if long else datetime.strptime(short.decode(), "%y%m%d%H%M%S")
    )
    return parsed.replace(tzinfo=UTC)


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
