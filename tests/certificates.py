"""A certificate authority for tests, and certificates that it issues with the ``openssl`` program."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
HERE = "IP:127.0.0.1,DNS:localhost"


@dataclass(frozen=True)
class Identity:
    """A key and a certificate, in separate files and in one with the authority's."""

    key: Path
    certificate: Path
    both: Path


class Authority:
    """Issues certificates; ``ca`` is its own."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = folder / f"{name}.key"
        self.ca = folder / f"{name}.pem"
        run("req", "-x509", *EC, "-subj", f"/CN={name}", "-days", "2", "-keyout", self._key, "-out", self.ca)

    def identity(self, name: str, *, at: str = HERE, expired: bool = False) -> Identity:
        """Issues a certificate for ``name`` at these addresses."""
        files = [self._folder / f"{name}-{len(list(self._folder.iterdir()))}.{kind}" for kind in ("key", "crt", "pem")]
        key, certificate, both = files
        request, extensions = key.with_suffix(".csr"), key.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={at}\n")
        run("req", *EC, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        days = ("-days", "-1" if expired else "2")
        issuer = ("-CA", self.ca, "-CAkey", self._key, "-CAcreateserial", "-extfile", extensions)
        run("x509", "-req", "-in", request, *issuer, *days, "-out", certificate)
        both.write_bytes(key.read_bytes() + certificate.read_bytes() + self.ca.read_bytes())
        return Identity(key, certificate, both)


def run(*command: str | Path) -> bytes:
    """Runs ``openssl``, and returns its output."""
    return subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True).stdout
