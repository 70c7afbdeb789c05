"""Translates OAUTHBEARER with client credentials (OIDC).

Spark's client reads everything but the endpoint from a login module's line; librdkafka has properties of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evertable.kafka import jaas
from evertable.kafka.jaas import OAUTH_MODULE

if TYPE_CHECKING:
    from evertable.kafka.dialects import Dialects

MECHANISM = "OAUTHBEARER"
FAMILY = "sasl.oauthbearer."
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
OLD_HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"

HANDLER_NAME = "sasl.login.callback.handler.class"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
METHOD = "sasl.oauthbearer.method"
CLIENT_ID = "sasl.oauthbearer.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.secret"  # noqa: S105 - its name
EXTENSIONS = "sasl.oauthbearer.extensions"
GRANT = "sasl.oauthbearer.grant.type"
CA_FILE, CA_TEXT = "https.ca.location", "https.ca.pem"

# librdkafka's name → the option of Java's login module.
_OPTIONS = {CLIENT_ID: "clientId", CLIENT_SECRET: "clientSecret", "sasl.oauthbearer.scope": "scope"}
_EXTENSION = "extension_"
_TRUST = "ssl.truststore."

# Other ways to get a token, which only one of the two clients supports.
_OTHER_WAYS = ("sasl.oauthbearer.assertion.", "sasl.oauthbearer.metadata.authentication.type")
_LIBRDKAFKAS_WAYS = ("sasl.oauthbearer.config", "enable.sasl.oauthbearer.unsecure.jwt")
_WAY = "tokens are requested with client id and secret (OIDC client credentials)"

_EXTENSION_NAME = re.compile(r"[A-Za-z]+")


def translate(dialects: Dialects) -> None:
    """Derives Java's line from librdkafka's properties, or the other way round."""
    given, java, librdkafka = dialects.given, dialects.java, dialects.librdkafka
    _refuse_other_ways(dialects)
    line = _options(dialects)
    extensions = _extensions(dialects)
    if "clientId" not in line:
        options = {option: given[name] for name, option in _OPTIONS.items() if name in given}
        options |= {f"{_EXTENSION}{name}": value for name, value in extensions.items()}
        if CA_TEXT in given:
            options |= {f"{_TRUST}type": "PEM", f"{_TRUST}certificates": given[CA_TEXT]}
        elif given.get(CA_FILE, "probe") != "probe":  # librdkafka's word for the system's own authorities
            options |= {f"{_TRUST}type": "PEM", f"{_TRUST}location": given[CA_FILE]}
        java["sasl.jaas.config"] = jaas.line(OAUTH_MODULE, options | line)
    if given.get(HANDLER_NAME, OLD_HANDLER) == OLD_HANDLER:
        java[HANDLER_NAME] = HANDLER

    for name in (GRANT, *_LIBRDKAFKAS_WAYS):
        librdkafka.pop(name, None)
    librdkafka[METHOD] = "oidc"
    for name, option in _OPTIONS.items():
        if option in line:
            librdkafka.setdefault(name, line[option])
    for name in (ENDPOINT, CLIENT_ID, CLIENT_SECRET):
        if not librdkafka.get(name):
            dialects.refuse(name, f"is missing; {MECHANISM} gets a token there with client id and secret")
    extensions = extensions or {
        option.removeprefix(_EXTENSION): value for option, value in line.items() if option.startswith(_EXTENSION)
    }
    if extensions:
        librdkafka[EXTENSIONS] = ",".join(f"{name}={value}" for name, value in extensions.items())
    if CA_FILE not in given and CA_TEXT not in given:
        _translate_trust(line, dialects)


def _options(dialects: Dialects) -> dict[str, str]:
    """Returns the options in the line for Java, if there is one."""
    if "sasl.jaas.config" not in dialects.given:
        return {}
    module, options = jaas.parse(dialects.given["sasl.jaas.config"])
    if module != OAUTH_MODULE:
        dialects.refuse("sasl.jaas.config", f"must be of {OAUTH_MODULE} with sasl.mechanism {MECHANISM}")
        return {}
    return options


def _extensions(dialects: Dialects) -> dict[str, str]:
    """Returns the extensions, given in one text or one by one."""
    found = {}
    for pair in dialects.given.get(EXTENSIONS, "").split(","):
        if pair.strip():
            name, _, value = pair.partition("=")
            found[name.strip()] = value.strip()
    for name, value in dialects.given.items():
        if name.startswith(f"{EXTENSIONS}."):
            found[name.removeprefix(f"{EXTENSIONS}.")] = value
            del dialects.java[name]
    for name, value in found.items():
        if not _EXTENSION_NAME.fullmatch(name) or name == "auth":
            dialects.refuse(EXTENSIONS, f"'{name}' is not an extension's name: letters only, and not 'auth'")
        elif "," in value:
            dialects.refuse(f"{EXTENSIONS}.{name}", "must not contain a comma, which separates extensions")
    return found


def _translate_trust(options: Mapping[str, str], dialects: Dialects) -> None:
    """Translates the authorities for the token endpoint in Java's line."""
    if certificates := options.get(f"{_TRUST}certificates"):
        dialects.librdkafka[CA_TEXT] = certificates
    elif location := options.get(f"{_TRUST}location"):
        if options.get(f"{_TRUST}type", "JKS").upper() == "PEM":
            dialects.librdkafka[CA_FILE] = location
        else:
            what = "has a trust store for the token endpoint that only Java can read"
            dialects.refuse("sasl.jaas.config", f"{what}; add {CA_FILE}, a PEM file of the same authorities")


def _refuse_other_ways(dialects: Dialects) -> None:
    given = dialects.given
    for name in given:
        if name.startswith(_OTHER_WAYS):
            dialects.refuse(name, f"is not supported: {_WAY}")
        elif name in _LIBRDKAFKAS_WAYS:
            dialects.warn(name, f"has no effect: {_WAY}")
    for name, expected in ((METHOD, "oidc"), (GRANT, "client_credentials")):
        if given.get(name, expected).lower() not in (expected, "default"):
            dialects.refuse(name, f"must be {expected}: {_WAY}")
    if given.get(HANDLER_NAME, HANDLER) not in (HANDLER, OLD_HANDLER):
        dialects.refuse(HANDLER_NAME, f"must be {HANDLER}, or left out: {_WAY}")
