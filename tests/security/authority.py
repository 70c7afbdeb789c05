"""A certificate authority made on the spot, and certificates of all kinds from it, by the ``openssl`` program."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
HERE = "IP:127.0.0.1,DNS:localhost"


@dataclass(frozen=True)
class Identity:
    """A key and a certificate, in files of their own and both in one."""

    key: Path
    certificate: Path
    both: Path


class Authority:
    """Vouches for whom it is told to; ``ca`` is its own certificate."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = folder / f"{name}.key"
        self.ca = folder / f"{name}.pem"
        run("req", "-x509", *EC, "-subj", f"/CN={name}", "-days", "2", "-keyout", self._key, "-out", self.ca)

    def identity(self, name: str, *, at: str = HERE, expired: bool = False) -> Identity:
        """A certificate for ``name``, good for these addresses."""
        files = [self._folder / f"{name}-{len(list(self._folder.iterdir()))}.{kind}" for kind in ("key", "crt", "pem")]
        key, certificate, both = files
        asked, wanted = key.with_suffix(".csr"), key.with_suffix(".ext")
        wanted.write_text(f"subjectAltName={at}\n")
        run("req", *EC, "-subj", f"/CN={name}", "-keyout", key, "-out", asked)
        days = ("-days", "-1" if expired else "2")
        vouching = ("-CA", self.ca, "-CAkey", self._key, "-CAcreateserial", "-extfile", wanted)
        run("x509", "-req", "-in", asked, *vouching, *days, "-out", certificate)
        both.write_bytes(key.read_bytes() + certificate.read_bytes() + self.ca.read_bytes())
        return Identity(key, certificate, both)


def run(*command: str | Path) -> bytes:
    """What ``openssl`` says."""
    return subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True).stdout
