"""Translates security properties into both dialects: how a client logs in, and which certificates it uses and trusts.

A property that one client does not support is a warning if it works without, else it is refused with advice.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from evertable.kafka import jaas, oauth
from evertable.kafka.jaas import LOGIN_MODULES
from evertable.kafka.translation import Translation

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = (*LOGIN_MODULES, oauth.MECHANISM)

# Same name and meaning in both clients; the functions below translate what differs.
_BOTH = frozenset({"security.protocol", "sasl.mechanism", "ssl.key.password"})
_LIBRDKAFKA_ONLY = frozenset(
    """enable.ssl.certificate.verification https.ca.location https.ca.pem ssl.ca.certificate.stores
    ssl.certificate.location ssl.crl.location ssl.curves.list ssl.key.location ssl.sigalgs.list""".split()
)

# Java's way to read a value from a file: needed where key and certificate are two files, as librdkafka has them.
_PROVIDER = "evertable"
_PROVIDER_CLASS = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"


def to_java(given: Mapping[str, str]) -> Translation:
    """Translates security properties for the Java client."""
    steps = (_check_protocol, oauth.to_java, _java_login, _java_trust, _java_certificate, _java_host_check, _java_rest)
    return _translated(given, steps)


def to_librdkafka(given: Mapping[str, str]) -> Translation:
    """Translates security properties for librdkafka."""
    return _translated(
        given,
        (
            oauth.to_librdkafka,
            _librdkafka_login,
            _librdkafka_trust,
            _librdkafka_certificate,
            _librdkafka_host_check,
            _librdkafka_rest,
        ),
    )


def _translated(given: Mapping[str, str], steps: tuple[Callable[[Translation], None], ...]) -> Translation:
    translation = Translation.of(given)
    for step in steps:
        step(translation)
    return translation


def _check_protocol(translation: Translation) -> None:
    """Checks that protocol, mechanism and the other properties fit together; done once, for both clients."""
    rest = translation.rest
    protocol, mechanism = rest.get("security.protocol", "PLAINTEXT"), translation.mechanism
    if protocol not in PROTOCOLS:
        translation.refuse("security.protocol", f"'{protocol}' is none of {', '.join(PROTOCOLS)}")
    elif protocol.startswith("SASL_"):
        if not mechanism:
            translation.refuse("sasl.mechanism", f"is missing: {', '.join(MECHANISMS)}")
        elif mechanism not in MECHANISMS:
            translation.refuse("sasl.mechanism", f"'{mechanism}' is not supported; {', '.join(MECHANISMS)} are")
    elif logins := [name for name in rest if name.startswith("sasl.")]:
        translation.warn(logins[0], f"has no effect with security.protocol {protocol}; set it to SASL_SSL")
    if not protocol.endswith("SSL") and (certificates := [name for name in rest if name.startswith("ssl.")]):
        translation.warn(certificates[0], f"has no effect with security.protocol {protocol}; set it to SSL or SASL_SSL")
    if mechanism != oauth.MECHANISM:
        for name in translation.take_all(*[name for name in rest if name.startswith(oauth.FAMILY)]):
            translation.warn(name, f"has no effect without sasl.mechanism {oauth.MECHANISM}")


def _java_login(translation: Translation) -> None:
    given = translation.take_all("sasl.username", "sasl.password")
    mechanism = translation.mechanism
    if "sasl.jaas.config" in translation.rest or mechanism not in LOGIN_MODULES:
        return
    for name in ("sasl.username", "sasl.password"):
        if name not in given:
            translation.refuse(name, f"is missing; {mechanism} logs in by name and password")
    options = {"username": given.get("sasl.username", ""), "password": given.get("sasl.password", "")}
    translation.done["sasl.jaas.config"] = jaas.line(LOGIN_MODULES[mechanism], options)


def _librdkafka_login(translation: Translation) -> None:
    text = translation.take("sasl.jaas.config")
    given = translation.take_all("sasl.username", "sasl.password")
    translation.done |= given
    mechanism = translation.mechanism
    if text is None or "sasl.username" in given or mechanism not in LOGIN_MODULES:
        return
    login = jaas.parse(text)
    if login is None or login.module != LOGIN_MODULES[mechanism] or not {"username", "password"} <= {*login.options}:
        wanted = f"{LOGIN_MODULES[mechanism]} with username and password"
        translation.refuse("sasl.jaas.config", f"must be of {wanted}; or use sasl.username and sasl.password instead")
    else:
        translation.done["sasl.username"] = login.options["username"]
        translation.done["sasl.password"] = login.options["password"]


def _java_trust(translation: Translation) -> None:
    rest, done = translation.rest, translation.done
    location, pem = translation.take("ssl.ca.location"), translation.take("ssl.ca.pem")
    if "ssl.truststore.location" in rest or "ssl.truststore.certificates" in rest:
        if "ssl.truststore.certificates" in rest:
            done["ssl.truststore.type"] = "PEM"
    elif pem is not None:
        done |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": pem}
    elif location is not None and location != "probe":
        done |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": location}


def _librdkafka_trust(translation: Translation) -> None:
    store = (translation.take("ssl.truststore.type") or "JKS").upper()
    location = translation.take("ssl.truststore.location")
    certificates = translation.take("ssl.truststore.certificates")
    translation.take("ssl.truststore.password")
    given = translation.take_all("ssl.ca.location", "ssl.ca.pem")
    translation.done |= given
    if given:
        return
    if certificates is not None:
        translation.done["ssl.ca.pem"] = certificates
    elif location is not None and store == "PEM":
        translation.done["ssl.ca.location"] = location
    elif location is not None:
        command = f"keytool -list -rfc -keystore {posixpath.basename(location)} > ca.pem"
        what = f"only Java reads {store} files; use ssl.ca.location, a PEM file: {command}"
        translation.refuse("ssl.truststore.location", what)


def _java_certificate(translation: Translation) -> None:
    rest, done = translation.rest, translation.done
    key, chain = translation.take("ssl.key.pem"), translation.take("ssl.certificate.pem")
    key_file, chain_file = translation.take("ssl.key.location"), translation.take("ssl.certificate.location")
    if "ssl.keystore.location" in rest:
        return
    if "ssl.keystore.key" not in rest and key is not None and chain is not None:
        done |= {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}
    if "ssl.keystore.key" in rest or "ssl.keystore.key" in done:
        done["ssl.keystore.type"] = "PEM"
    elif key_file is not None and key_file == chain_file:
        done |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": key_file}
    elif key_file is not None and chain_file is not None:
        done |= {"ssl.keystore.type": "PEM", "config.providers": _PROVIDER}
        done[f"config.providers.{_PROVIDER}.class"] = _PROVIDER_CLASS
        for name, given, file in (
            ("ssl.keystore.key", "ssl.key.location", key_file),
            ("ssl.keystore.certificate.chain", "ssl.certificate.location", chain_file),
        ):
            folder, base = posixpath.split(posixpath.normpath(file))
            done[name] = f"${{{_PROVIDER}:{folder or '.'}:{base}}}"
            if ":" in file or "}" in file:
                translation.refuse(given, "must not contain ':' or '}', which Java cannot read in a path")


def _librdkafka_certificate(translation: Translation) -> None:
    done = translation.done
    store = (translation.take("ssl.keystore.type") or "JKS").upper()
    key, chain = translation.take("ssl.keystore.key"), translation.take("ssl.keystore.certificate.chain")
    location, password = translation.take("ssl.keystore.location"), translation.take("ssl.keystore.password")
    own = translation.take_all("ssl.key.pem", "ssl.certificate.pem")
    if own or "ssl.key.location" in translation.rest:
        done |= own
    elif key is not None:
        done["ssl.key.pem"] = key
        if chain is not None:
            done["ssl.certificate.pem"] = chain
    elif location is not None and store == "PEM":
        done |= {"ssl.key.location": location, "ssl.certificate.location": location}  # one file holds both
    elif location is not None and (store == "PKCS12" or location.lower().endswith((".p12", ".pfx"))):
        done["ssl.keystore.location"] = location
        if password is not None:
            done["ssl.keystore.password"] = password
    elif location is not None:
        instead = "use PKCS12 (ssl.keystore.type) or PEM (ssl.key.location, ssl.certificate.location)"
        translation.refuse("ssl.keystore.location", f"only Java reads {store} files; {instead}")


def _java_host_check(translation: Translation) -> None:
    algorithm = translation.take("ssl.endpoint.identification.algorithm")
    if algorithm is not None:
        algorithm = "" if algorithm.lower() == "none" else algorithm
        translation.done["ssl.endpoint.identification.algorithm"] = algorithm


def _librdkafka_host_check(translation: Translation) -> None:
    algorithm = translation.take("ssl.endpoint.identification.algorithm")
    if algorithm is not None:
        translation.done["ssl.endpoint.identification.algorithm"] = algorithm.lower() or "none"


def _java_rest(translation: Translation) -> None:
    for name, value in translation.rest.items():
        if name in _LIBRDKAFKA_ONLY:
            if name == "enable.ssl.certificate.verification" and value.lower() in ("false", "0"):
                translation.warn(name, "Spark always verifies certificates; give it the authority that signed them")
        elif name != "ssl.cipher.suites" or not _is_openssl(value):
            translation.done.setdefault(name, value)


def _librdkafka_rest(translation: Translation) -> None:
    rest = translation.rest
    translation.done |= {name: value for name, value in rest.items() if name in _BOTH | _LIBRDKAFKA_ONLY}
    if _is_openssl(rest.get("ssl.cipher.suites", "")):
        translation.done["ssl.cipher.suites"] = rest["ssl.cipher.suites"]


def _is_openssl(suites: str) -> bool:
    """Returns whether ciphers have OpenSSL's names; Java's have underscores, and commas between them."""
    return ":" in suites or "-" in suites
