"""Translates client properties into two dialects: the Java client's, which Spark uses, and librdkafka's.

Each client gets the properties that it understands as they were given. What it lacks of a login or a certificate is
derived from the other's. What works for one client only is a warning if the other does without it, else it is refused
with advice.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from evertable.kafka import jaas, oauth
from evertable.kafka.jaas import LOGIN_MODULES
from evertable.kafka.property_names import BOTH, LIBRDKAFKA_ONLY, NOT_PASSED, RENAMED
from evertable.problems import Problem

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = (*LOGIN_MODULES, oauth.MECHANISM)

# Java's way to read a value from a file: needed where key and certificate are two files, as librdkafka has them.
_PROVIDER = "evertable"
_PROVIDER_CLASS = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"


class Dialects:
    """One set of properties in both dialects. They contain secrets: never log them."""

    def __init__(self, given: Mapping[str, str]) -> None:
        words = ("security.protocol", "sasl.mechanism")
        self.given = {
            name: text.strip().upper() if name in words else text
            for name, text in given.items()
            if name not in NOT_PASSED
        }
        self.mechanism = self.given.get("sasl.mechanism", "")
        self.warnings: list[Problem] = []
        """What one client ignores."""
        self.refusals: list[Problem] = []
        """What cannot be used at all."""
        self._check_protocol()
        self.java = {name: text for name, text in self.given.items() if name not in LIBRDKAFKA_ONLY}
        self.librdkafka = {
            RENAMED.get(name, name): text
            for name, text in self.given.items()
            if name in BOTH | LIBRDKAFKA_ONLY | RENAMED.keys()
        }
        if self.mechanism == oauth.MECHANISM:
            oauth.translate(self)
        elif self.mechanism in LOGIN_MODULES:
            self._login(LOGIN_MODULES[self.mechanism])
        self._trust()
        self._java_certificate()
        self._librdkafka_certificate()
        self._encryption()

    def warn(self, name: str, what: str) -> None:
        self.warnings.append(Problem((name,), what))

    def refuse(self, name: str, what: str) -> None:
        self.refusals.append(Problem((name,), what))

    def _check_protocol(self) -> None:
        """Checks that protocol, mechanism and the other properties fit together."""
        protocol = self.given.get("security.protocol", "PLAINTEXT")
        if protocol not in PROTOCOLS:
            self.refuse("security.protocol", f"'{protocol}' is none of {', '.join(PROTOCOLS)}")
        elif protocol.startswith("SASL_"):
            if not self.mechanism:
                self.refuse("sasl.mechanism", f"is missing: {', '.join(MECHANISMS)}")
            elif self.mechanism not in MECHANISMS:
                self.refuse("sasl.mechanism", f"'{self.mechanism}' is not supported; {', '.join(MECHANISMS)} are")
        elif logins := [name for name in self.given if name.startswith("sasl.")]:
            self.warn(logins[0], f"has no effect with security.protocol {protocol}; set it to SASL_SSL")
        certificates = [name for name in self.given if name.startswith("ssl.")]
        if certificates and not protocol.endswith("SSL"):
            self.warn(certificates[0], f"has no effect with security.protocol {protocol}; set it to SSL or SASL_SSL")
        if self.mechanism != oauth.MECHANISM:
            for name in [name for name in self.given if name.startswith(oauth.FAMILY)]:
                self.warn(name, f"has no effect without sasl.mechanism {oauth.MECHANISM}")
                del self.given[name]

    def _login(self, module: str) -> None:
        """Derives Java's login module from name and password, or the other way round."""
        text = self.given.get("sasl.jaas.config")
        names = ("sasl.username", "sasl.password")
        if text is None:
            for name in names:
                if name not in self.given:
                    self.refuse(name, f"is missing; {self.mechanism} logs in by name and password")
            username, password = (self.given.get(name, "") for name in names)
            self.java["sasl.jaas.config"] = jaas.line(module, {"username": username, "password": password})
        elif "sasl.username" not in self.given:
            found, options = jaas.parse(text)
            if found != module or not {"username", "password"} <= options.keys():
                wanted = f"{module} with username and password"
                self.refuse("sasl.jaas.config", f"must be of {wanted}; or use sasl.username and sasl.password instead")
            else:
                self.librdkafka |= {name: options[name.removeprefix("sasl.")] for name in names}

    def _trust(self) -> None:
        """Derives the authorities that one client trusts from those of the other."""
        given = self.given
        store, location = given.get("ssl.truststore.type") or "JKS", given.get("ssl.truststore.location")
        certificates = given.get("ssl.truststore.certificates")
        pem, file = given.get("ssl.ca.pem"), given.get("ssl.ca.location")
        if certificates is not None:
            self.java["ssl.truststore.type"] = "PEM"
        elif location is None and pem is not None:
            self.java |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}
        elif location is None and file not in (None, "probe"):
            self.java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": file}
        if pem is not None or file is not None:
            return
        if certificates is not None:
            self.librdkafka["ssl.ca.pem"] = certificates
        elif location is not None and store.upper() == "PEM":
            self.librdkafka["ssl.ca.location"] = location
        elif location is not None:
            command = f"keytool -list -rfc -keystore {posixpath.basename(location)} > ca.pem"
            what = f"only Java reads {store.upper()} files; use ssl.ca.location, a PEM file: {command}"
            self.refuse("ssl.truststore.location", what)

    def _java_certificate(self) -> None:
        given, java = self.given, self.java
        key, chain = given.get("ssl.key.pem"), given.get("ssl.certificate.pem")
        key_file, chain_file = given.get("ssl.key.location"), given.get("ssl.certificate.location")
        if "ssl.keystore.location" in given:
            return
        if "ssl.keystore.key" not in given and key is not None and chain is not None:
            java |= {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}
        if "ssl.keystore.key" in java:
            java["ssl.keystore.type"] = "PEM"
        elif key_file is not None and key_file == chain_file:
            java |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": key_file}
        elif key_file is not None and chain_file is not None:
            own = given.get("config.providers")
            java |= {"ssl.keystore.type": "PEM", "config.providers": f"{own},{_PROVIDER}" if own else _PROVIDER}
            java[f"config.providers.{_PROVIDER}.class"] = _PROVIDER_CLASS
            java["ssl.keystore.key"] = self._read_by_java("ssl.key.location", key_file)
            java["ssl.keystore.certificate.chain"] = self._read_by_java("ssl.certificate.location", chain_file)

    def _read_by_java(self, name: str, file: str) -> str:
        """Returns the reference by which Java reads a file's text."""
        if ":" in file or "}" in file:
            self.refuse(name, "must not contain ':' or '}', which Java cannot read in a path")
        folder, base = posixpath.split(posixpath.normpath(file))
        return f"${{{_PROVIDER}:{folder or '.'}:{base}}}"

    def _librdkafka_certificate(self) -> None:
        given, librdkafka = self.given, self.librdkafka
        if not given.keys().isdisjoint({"ssl.key.pem", "ssl.certificate.pem", "ssl.key.location"}):
            return
        store, location = (given.get("ssl.keystore.type") or "JKS").upper(), given.get("ssl.keystore.location")
        if "ssl.keystore.key" in given:
            librdkafka["ssl.key.pem"] = given["ssl.keystore.key"]
            if "ssl.keystore.certificate.chain" in given:
                librdkafka["ssl.certificate.pem"] = given["ssl.keystore.certificate.chain"]
        elif location is not None and store == "PEM":
            librdkafka |= {"ssl.key.location": location, "ssl.certificate.location": location}  # one file holds both
        elif location is not None and (store == "PKCS12" or location.lower().endswith((".p12", ".pfx"))):
            names = ("ssl.keystore.location", "ssl.keystore.password")
            librdkafka |= {name: given[name] for name in names if name in given}
        elif location is not None:
            instead = "use PKCS12 (ssl.keystore.type) or PEM (ssl.key.location, ssl.certificate.location)"
            self.refuse("ssl.keystore.location", f"only Java reads {store} files; {instead}")

    def _encryption(self) -> None:
        """Translates the check of the broker's host, and ciphers, which only one of the two clients can know."""
        if (algorithm := self.given.get("ssl.endpoint.identification.algorithm")) is not None:
            self.java["ssl.endpoint.identification.algorithm"] = "" if algorithm.lower() == "none" else algorithm
            self.librdkafka["ssl.endpoint.identification.algorithm"] = algorithm.lower() or "none"
        suites = self.given.get("ssl.cipher.suites", "")
        if ":" in suites or "-" in suites:  # OpenSSL's names; Java's have underscores, and commas between them
            self.librdkafka["ssl.cipher.suites"] = self.java.pop("ssl.cipher.suites")
        if self.given.get("enable.ssl.certificate.verification", "").lower() in ("false", "0"):
            what = "Spark always verifies certificates; give it the authority that signed them"
            self.warn("enable.ssl.certificate.verification", what)
