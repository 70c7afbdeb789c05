"""Security properties in both dialects: how a client proves who it is, and whom it trusts.

What can be said to one client only earns a sentence of warning where the other does without, and is refused, with
advice, where it cannot. One function per concern and direction; ``oauth`` has those of OAUTHBEARER.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from evertable.kafka import jaas, oauth
from evertable.kafka.jaas import LOGIN_MODULES
from evertable.kafka.notes import Notes, Texts

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = (*LOGIN_MODULES, oauth.MECHANISM)

# Known to both clients by one name and with one meaning; the functions below handle what differs.
_BOTH = frozenset({"security.protocol", "sasl.mechanism", "ssl.key.password"})
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

# Java's way to take a value from a file: where key and certificate are two files, as librdkafka has them.
_FILES = "evertable"
_FILES_CLASS = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"

Step = Callable[[Texts, Texts, Notes], None]  # takes what it translates out of the first, adds it to the second


def to_java(given: Mapping[str, str]) -> tuple[Texts, Notes]:
    """Security properties for the Java client, and what could not be said in its words."""
    return _translated(given, _TO_JAVA)


def to_librdkafka(given: Mapping[str, str]) -> tuple[Texts, Notes]:
    """Security properties for librdkafka, and what could not be said in its words."""
    return _translated(given, _TO_LIBRDKAFKA)


def _translated(given: Mapping[str, str], steps: tuple[Step, ...]) -> tuple[Texts, Notes]:
    rest, done, notes = dict(given), Texts(), Notes()
    for name in ("security.protocol", "sasl.mechanism"):
        if name in rest:
            rest[name] = rest[name].strip().upper()
    for step in steps:
        step(rest, done, notes)
    return done, notes


def _protocol(rest: Texts, _: Texts, notes: Notes) -> None:
    """Whether what is given makes a login; judged once, for both."""
    protocol, mechanism = rest.get("security.protocol", "PLAINTEXT"), rest.get("sasl.mechanism")
    if protocol not in PROTOCOLS:
        notes.refuse("security.protocol", f"'{protocol}' is none of {', '.join(PROTOCOLS)}")
    elif protocol.startswith("SASL_"):
        if mechanism is None:
            notes.refuse("sasl.mechanism", f"is missing: {', '.join(MECHANISMS)}")
        elif mechanism not in MECHANISMS:
            notes.refuse("sasl.mechanism", f"'{mechanism}' is not supported; {', '.join(MECHANISMS)} are")
    elif logins := [name for name in rest if name.startswith("sasl.")]:
        notes.warn(logins[0], f"has no effect with security.protocol {protocol}; set it to SASL_SSL")
    if not protocol.endswith("SSL") and (certificates := [name for name in rest if name.startswith("ssl.")]):
        notes.warn(certificates[0], f"has no effect with security.protocol {protocol}; set it to SSL or SASL_SSL")
    if mechanism != oauth.MECHANISM:
        for name in [name for name in rest if name.startswith(oauth.FAMILY)]:
            notes.warn(name, f"has no effect without sasl.mechanism {oauth.MECHANISM}")
            del rest[name]


def _java_login(rest: Texts, done: Texts, notes: Notes) -> None:
    username, password = rest.pop("sasl.username", None), rest.pop("sasl.password", None)
    mechanism = rest.get("sasl.mechanism", "")
    if "sasl.jaas.config" in rest or mechanism not in LOGIN_MODULES:
        return
    for name, text in (("sasl.username", username), ("sasl.password", password)):
        if text is None:
            notes.refuse(name, f"is missing; {mechanism} logs in by name and password")
    options = {"username": username or "", "password": password or ""}
    done["sasl.jaas.config"] = jaas.line(LOGIN_MODULES[mechanism], options)


def _librdkafka_login(rest: Texts, done: Texts, notes: Notes) -> None:
    text = rest.pop("sasl.jaas.config", None)
    for name in ("sasl.username", "sasl.password"):
        if name in rest:
            done[name] = rest.pop(name)
    mechanism = rest.get("sasl.mechanism", "")
    if text is None or "sasl.username" in done or mechanism not in LOGIN_MODULES:
        return
    login = jaas.parse(text)
    if login is None or login.module != LOGIN_MODULES[mechanism] or not {"username", "password"} <= {*login.options}:
        wanted = f"{LOGIN_MODULES[mechanism]} with username and password"
        notes.refuse("sasl.jaas.config", f"must be of {wanted}; or use sasl.username and sasl.password instead")
    else:
        done["sasl.username"], done["sasl.password"] = login.options["username"], login.options["password"]


def _java_trust(rest: Texts, done: Texts, _: Notes) -> None:
    location, pem = rest.pop("ssl.ca.location", None), rest.pop("ssl.ca.pem", None)
    if "ssl.truststore.location" in rest or "ssl.truststore.certificates" in rest:
        if "ssl.truststore.certificates" in rest:
            done["ssl.truststore.type"] = "PEM"
    elif pem is not None:
        done |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}
    elif location is not None and location != "probe":
        done |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": location}


def _librdkafka_trust(rest: Texts, done: Texts, notes: Notes) -> None:
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
        how = f"keytool -list -rfc -keystore {posixpath.basename(location)} > ca.pem"
        notes.refuse("ssl.truststore.location", f"only Java reads {kind} files; use ssl.ca.location, a PEM file: {how}")


def _java_certificate(rest: Texts, done: Texts, notes: Notes) -> None:
    key, chain = rest.pop("ssl.key.pem", None), rest.pop("ssl.certificate.pem", None)
    key_file, chain_file = rest.pop("ssl.key.location", None), rest.pop("ssl.certificate.location", None)
    if "ssl.keystore.location" in rest:
        return
    if "ssl.keystore.key" not in rest and key is not None and chain is not None:
        done |= {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}
    if "ssl.keystore.key" in rest or "ssl.keystore.key" in done:
        done["ssl.keystore.type"] = "PEM"
    elif key_file is not None and key_file == chain_file:
        done |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": key_file}
    elif key_file is not None and chain_file is not None:
        done |= {"ssl.keystore.type": "PEM", "config.providers": _FILES}
        done[f"config.providers.{_FILES}.class"] = _FILES_CLASS
        for name, file in (("ssl.keystore.key", key_file), ("ssl.keystore.certificate.chain", chain_file)):
            folder, base = posixpath.split(posixpath.normpath(file))
            done[name] = f"${{{_FILES}:{folder or '.'}:{base}}}"
            if ":" in file or "}" in file:
                other = "ssl.key.location" if file == key_file else "ssl.certificate.location"
                notes.refuse(other, "must have neither ':' nor '}' in its path, for Java's sake")


def _librdkafka_certificate(rest: Texts, done: Texts, notes: Notes) -> None:
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
    elif location is not None and (kind == "PKCS12" or location.lower().endswith((".p12", ".pfx"))):
        done["ssl.keystore.location"] = location
        if password is not None:
            done["ssl.keystore.password"] = password
    elif location is not None:
        instead = "use PKCS12 (ssl.keystore.type) or PEM (ssl.key.location, ssl.certificate.location)"
        notes.refuse("ssl.keystore.location", f"only Java reads {kind} files; {instead}")


def _java_host_check(rest: Texts, done: Texts, _: Notes) -> None:
    algorithm = rest.pop("ssl.endpoint.identification.algorithm", None)
    if algorithm is not None:
        done["ssl.endpoint.identification.algorithm"] = "" if algorithm.lower() == "none" else algorithm


def _librdkafka_host_check(rest: Texts, done: Texts, _: Notes) -> None:
    algorithm = rest.pop("ssl.endpoint.identification.algorithm", None)
    if algorithm is not None:
        done["ssl.endpoint.identification.algorithm"] = algorithm.lower() or "none"


def _java_rest(rest: Texts, done: Texts, notes: Notes) -> None:
    for name, value in rest.items():
        if name in _LIBRDKAFKA_ONLY:
            if name == "enable.ssl.certificate.verification" and value.lower() in ("false", "0"):
                notes.warn(name, "Spark always verifies certificates; give it the authority that signed them")
        elif name != "ssl.cipher.suites" or not _is_openssl(value):
            done.setdefault(name, value)


def _librdkafka_rest(rest: Texts, done: Texts, _: Notes) -> None:
    done |= {name: value for name, value in rest.items() if name in _BOTH | _LIBRDKAFKA_ONLY}
    if _is_openssl(rest.get("ssl.cipher.suites", "")):
        done["ssl.cipher.suites"] = rest["ssl.cipher.suites"]


def _is_openssl(suites: str) -> bool:
    """Whether ciphers are named as OpenSSL does; Java's names are others, with underscores and commas."""
    return ":" in suites or "-" in suites


_TO_JAVA: tuple[Step, ...] = (
    _protocol,
    oauth.to_java,
    _java_login,
    _java_trust,
    _java_certificate,
    _java_host_check,
    _java_rest,
)
_TO_LIBRDKAFKA: tuple[Step, ...] = (
    oauth.to_librdkafka,
    _librdkafka_login,
    _librdkafka_trust,
    _librdkafka_certificate,
    _librdkafka_host_check,
    _librdkafka_rest,
)
