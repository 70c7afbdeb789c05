"""Security properties in both dialects: how a client proves who it is, and whom it trusts.

Translated now: PLAIN and SCRAM logins, certificate authorities and client certificates in PEM. What cannot be
translated reaches the client that knows it and earns a sentence of warning. One function per concern and direction;
a further mechanism is one more function in ``_TO_JAVA`` and in ``_TO_LIBRDKAFKA``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
LOGIN_MODULES = {"PLAIN": PLAIN_MODULE, "SCRAM-SHA-256": SCRAM_MODULE, "SCRAM-SHA-512": SCRAM_MODULE}

# Known to both clients by one name and with one meaning; the functions below handle what differs.
_BOTH = frozenset({"security.protocol", "sasl.mechanism", "sasl.kerberos.service.name", "ssl.key.password"})
_LIBRDKAFKA_ONLY = frozenset(
    {
        "enable.ssl.certificate.verification",
        "https.ca.location",
        "https.ca.pem",
        "ssl.ca.certificate.stores",
        "ssl.certificate.location",
        "ssl.crl.location",
        "ssl.curves.list",
        "ssl.key.location",
        "ssl.sigalgs.list",
    }
)

Texts = dict[str, str]
Warnings = list[tuple[str, str]]  # property, what about it
Step = Callable[[Texts, Texts, Warnings], None]  # takes what it translates out of the first, adds it to the second


def to_java(given: Mapping[str, str]) -> tuple[Texts, Warnings]:
    """Security properties for the Java client, and what could not be said in its words."""
    return _translated(given, _TO_JAVA)


def to_librdkafka(given: Mapping[str, str]) -> tuple[Texts, Warnings]:
    """Security properties for librdkafka, and what could not be said in its words."""
    return _translated(given, _TO_LIBRDKAFKA)


def _translated(given: Mapping[str, str], steps: tuple[Step, ...]) -> tuple[Texts, Warnings]:
    rest, done, warnings = dict(given), Texts(), Warnings()
    for step in steps:
        step(rest, done, warnings)
    return done, warnings


def jaas(mechanism: str, username: str, password: str) -> str:
    """The login module's line for a name and a password, whatever characters they have."""
    return f"{LOGIN_MODULES[mechanism]} required username={_quoted(username)} password={_quoted(password)};"


def parse_jaas(text: str) -> tuple[str, str] | None:
    """Name and password of a PLAIN or SCRAM login module's line; None where there is no such thing in it."""
    if not any(module in text for module in LOGIN_MODULES.values()):
        return None
    options = {match[1]: _unquoted(match[2]) for match in _OPTION.finditer(text)}
    if "username" in options and "password" in options:
        return options["username"], options["password"]
    return None


_OPTION = re.compile(r"""([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""", re.DOTALL)
_ESCAPES = {"\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_NAMED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def _unquoted(text: str) -> str:
    """A value as Java's StreamTokenizer reads it: escapes count inside quotes only."""
    if text[0] not in "\"'":
        return text
    return _ESCAPED.sub(lambda match: _named(match[1]), text[1:-1])


def _named(escape: str) -> str:
    return chr(int(escape, 8)) if escape[0] in "01234567" else _NAMED.get(escape, escape)


def _java_login(rest: Texts, done: Texts, warnings: Warnings) -> None:
    username, password = rest.pop("sasl.username", None), rest.pop("sasl.password", None)
    mechanism = rest.get("sasl.mechanism", "").upper()
    if username is None or password is None or "sasl.jaas.config" in rest:
        return
    if mechanism in LOGIN_MODULES:
        done["sasl.jaas.config"] = jaas(mechanism, username, password)
    else:
        wanted = ", ".join(LOGIN_MODULES)
        warnings.append(("sasl.username", f"Spark can use it with sasl.mechanism {wanted} only"))


def _librdkafka_login(rest: Texts, done: Texts, warnings: Warnings) -> None:
    line = rest.pop("sasl.jaas.config", None)
    for name in ("sasl.username", "sasl.password"):
        if name in rest:
            done[name] = rest.pop(name)
    if line is None or "sasl.username" in done:
        return
    if login := parse_jaas(line):
        done["sasl.username"], done["sasl.password"] = login
    else:
        warnings.append(("sasl.jaas.config", "the changelog's reader understands PLAIN and SCRAM login modules only"))


def _java_trust(rest: Texts, done: Texts, _: Warnings) -> None:
    location, pem = rest.pop("ssl.ca.location", None), rest.pop("ssl.ca.pem", None)
    if "ssl.truststore.location" in rest or "ssl.truststore.certificates" in rest:
        if "ssl.truststore.certificates" in rest:
            done["ssl.truststore.type"] = "PEM"
    elif pem is not None:
        done |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}
    elif location is not None:
        done |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": location}


def _librdkafka_trust(rest: Texts, done: Texts, warnings: Warnings) -> None:
    kind = rest.pop("ssl.truststore.type", "JKS").upper()
    location, certificates = rest.pop("ssl.truststore.location", None), rest.pop("ssl.truststore.certificates", None)
    rest.pop("ssl.truststore.password", None)
    for name in ("ssl.ca.location", "ssl.ca.pem"):
        if name in rest:
            done[name] = rest.pop(name)
    if "ssl.ca.location" in done or "ssl.ca.pem" in done:
        return
    if certificates is not None:
        done["ssl.ca.pem"] = certificates
    elif location is not None and kind == "PEM":
        done["ssl.ca.location"] = location
    elif location is not None:
        hint = "add ssl.ca.location, a PEM file"
        warnings.append(("ssl.truststore.location", f"the changelog's reader reads no {kind} file; {hint}"))


def _java_certificate(rest: Texts, done: Texts, warnings: Warnings) -> None:
    key, chain = rest.pop("ssl.key.pem", None), rest.pop("ssl.certificate.pem", None)
    if key is not None and chain is not None and "ssl.keystore.key" not in rest:
        done |= {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}
    if "ssl.keystore.key" in rest or "ssl.keystore.key" in done:
        done["ssl.keystore.type"] = "PEM"
    elif "ssl.key.location" in rest and "ssl.keystore.location" not in rest:
        inline = "ssl.keystore.key and ssl.keystore.certificate.chain with ${file:…}"
        warnings.append(("ssl.key.location", f"Spark reads no key and certificate from two files; use {inline}"))


def _librdkafka_certificate(rest: Texts, done: Texts, warnings: Warnings) -> None:
    kind = rest.pop("ssl.keystore.type", "JKS").upper()
    key, chain = rest.pop("ssl.keystore.key", None), rest.pop("ssl.keystore.certificate.chain", None)
    location, password = rest.pop("ssl.keystore.location", None), rest.pop("ssl.keystore.password", None)
    own: Texts = {name: rest.pop(name) for name in ("ssl.key.pem", "ssl.certificate.pem") if name in rest}
    if own or "ssl.key.location" in rest:
        done |= own
    elif key is not None:
        done["ssl.key.pem"] = key
        if chain is not None:
            done["ssl.certificate.pem"] = chain
    elif location is not None and kind == "PEM":
        done |= {"ssl.key.location": location, "ssl.certificate.location": location}  # one file holds both
    elif location is not None and kind == "PKCS12":
        done["ssl.keystore.location"] = location
        if password is not None:
            done["ssl.keystore.password"] = password
    elif location is not None:
        warnings.append(("ssl.keystore.location", f"the changelog's reader reads no {kind} file; use PKCS12 or PEM"))


def _java_host_check(rest: Texts, done: Texts, _: Warnings) -> None:
    algorithm = rest.pop("ssl.endpoint.identification.algorithm", None)
    if algorithm is not None:
        done["ssl.endpoint.identification.algorithm"] = "" if algorithm.lower() == "none" else algorithm


def _librdkafka_host_check(rest: Texts, done: Texts, _: Warnings) -> None:
    algorithm = rest.pop("ssl.endpoint.identification.algorithm", None)
    if algorithm is not None:
        done["ssl.endpoint.identification.algorithm"] = algorithm.lower() or "none"


def _java_rest(rest: Texts, done: Texts, warnings: Warnings) -> None:
    for name, value in rest.items():
        if name in _LIBRDKAFKA_ONLY:
            if name == "enable.ssl.certificate.verification" and value.lower() in ("false", "0"):
                warnings.append((name, "Spark always verifies certificates; give it the authority that signed them"))
        else:
            done.setdefault(name, value)


def _librdkafka_rest(rest: Texts, done: Texts, warnings: Warnings) -> None:
    done |= {name: value for name, value in rest.items() if name in _BOTH | _LIBRDKAFKA_ONLY}
    mechanism = rest.get("sasl.mechanism", "PLAIN").upper()
    if mechanism not in LOGIN_MODULES:
        warnings.append(
            ("sasl.mechanism", f"{mechanism} goes to Spark as it is, and not yet to the changelog's reader")
        )


_TO_JAVA: tuple[Step, ...] = (_java_login, _java_trust, _java_certificate, _java_host_check, _java_rest)
_TO_LIBRDKAFKA: tuple[Step, ...] = (
    _librdkafka_login,
    _librdkafka_trust,
    _librdkafka_certificate,
    _librdkafka_host_check,
    _librdkafka_rest,
)
