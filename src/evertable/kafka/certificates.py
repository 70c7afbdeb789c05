"""Finds out why a certificate is rejected, a broker's or the client's: librdkafka reports only that it is."""

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

# OpenSSL's verification results.
_EXPIRED, _NOT_YET_VALID = 10, 9
_HOST_MISMATCH, _ADDRESS_MISMATCH = 62, 64
_TIMES = re.compile(rb"\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z")  # DER: the first two are notBefore and notAfter
_BROKER = re.compile(r"\w+://([^/\s]+):(\d+)/")  # begins librdkafka's messages about a connection


def broker_certificate_fault(properties: Mapping[str, Any], message: str) -> str:
    """Returns what is wrong with the certificate of the broker in librdkafka's ``message``; empty if unknown.

    ``properties`` are librdkafka's.
    """
    broker = _BROKER.match(message)
    if broker is None:
        return ""
    host, port = broker[1].strip("[]"), int(broker[2])
    try:
        context = _context(properties)
        with (
            socket.create_connection((host, port), TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host),
        ):
            return ""
    except ssl.SSLCertVerificationError as error:
        return f"The certificate of {host}:{port} {_verification_fault(error, host, properties)}"
    except (OSError, ValueError):
        return ""


def client_certificate_fault(properties: Mapping[str, Any], now: datetime) -> str:
    """Returns what is wrong with this client's certificate; empty if unknown."""
    try:
        text = properties.get("ssl.certificate.pem") or Path(str(properties["ssl.certificate.location"])).read_text()
        begin = str(text).index(ssl.PEM_HEADER)
        encoded = ssl.PEM_cert_to_DER_cert(str(text)[begin : str(text).index(ssl.PEM_FOOTER) + len(ssl.PEM_FOOTER)])
        not_before, not_after = (_time(*found) for found in _TIMES.findall(encoded)[:2])
    except (OSError, ValueError, KeyError):
        return ""
    if now > not_after:
        return f"it expired on {not_after:%Y-%m-%d}"
    return f"it is not valid before {not_before:%Y-%m-%d}" if now < not_before else ""


def _time(short: bytes, long: bytes) -> datetime:
    text, layout = (long, "%Y%m%d%H%M%S") if long else (short, "%y%m%d%H%M%S")
    return datetime.strptime(text.decode(), layout).replace(tzinfo=UTC)


def _verification_fault(error: ssl.SSLCertVerificationError, host: str, properties: Mapping[str, Any]) -> str:
    if error.verify_code == _EXPIRED:
        return "has expired"
    if error.verify_code == _NOT_YET_VALID:
        return "is not valid yet, by this machine's clock"
    if error.verify_code in (_HOST_MISMATCH, _ADDRESS_MISMATCH):
        return f"is for another host than {host}"
    has_own = "ssl.ca.location" in properties or "ssl.ca.pem" in properties
    known = "those in ssl.ca.location" if has_own else "those that this machine trusts"
    return f"is from an unknown authority, none of {known} ({error.verify_message})"


def _context(properties: Mapping[str, Any]) -> ssl.SSLContext:
    location = None if properties.get("ssl.ca.location") == "probe" else properties.get("ssl.ca.location")
    folder, file = (location, None) if location is not None and Path(str(location)).is_dir() else (None, location)
    context = ssl.create_default_context(capath=folder, cafile=file, cadata=properties.get("ssl.ca.pem"))
    if str(properties.get("ssl.endpoint.identification.algorithm", "https")) == "none":
        context.check_hostname = False
    certificate, key = properties.get("ssl.certificate.location"), properties.get("ssl.key.location")
    if certificate and key:
        with suppress(OSError):
            context.load_cert_chain(certificate, key, password=lambda: str(properties.get("ssl.key.password", "")))
    return context
