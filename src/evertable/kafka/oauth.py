"""Translates OAUTHBEARER with client credentials (OIDC).

Spark's client reads everything but the endpoint from a login module's line; librdkafka has properties of its own.
"""

from __future__ import annotations

import re

from evertable.kafka import jaas
from evertable.kafka.jaas import OAUTH_MODULE, Login
from evertable.kafka.translation import Translation

MECHANISM = "OAUTHBEARER"
FAMILY = "sasl.oauthbearer."
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
OLD_HANDLER = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"

HANDLER_NAME = "sasl.login.callback.handler.class"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
METHOD = "sasl.oauthbearer.method"
CLIENT_ID = "sasl.oauthbearer.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.secret"  # noqa: S105 - its name
SCOPE = "sasl.oauthbearer.scope"
EXTENSIONS = "sasl.oauthbearer.extensions"
GRANT = "sasl.oauthbearer.grant.type"
SUBJECT = "sasl.oauthbearer.sub.claim.name"
CA_FILE, CA_TEXT = "https.ca.location", "https.ca.pem"

# librdkafka's name → the option of Java's login module.
_OPTIONS = {CLIENT_ID: "clientId", CLIENT_SECRET: "clientSecret", SCOPE: "scope"}
_EXTENSION = "extension_"
_TRUST = "ssl.truststore."

# Other ways to get a token, which only one of the two clients supports.
_OTHER_WAYS = ("sasl.oauthbearer.assertion.", "sasl.oauthbearer.metadata.authentication.type")
_LIBRDKAFKA_ONLY = ("sasl.oauthbearer.config", "enable.sasl.oauthbearer.unsecure.jwt")

_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_SYSTEM_CA = "probe"  # librdkafka's word for the system's own authorities


def to_java(translation: Translation) -> None:
    """Translates for Spark's client."""
    if translation.mechanism != MECHANISM:
        return
    login = _login(translation)
    extensions = _extensions(translation)
    ca_file, ca_text = translation.take(CA_FILE), translation.take(CA_TEXT)
    given = translation.take_all(*_OPTIONS)
    if login is None or "clientId" not in login.options:
        options = {_OPTIONS[name]: text for name, text in given.items()}
        options |= {f"{_EXTENSION}{name}": value for name, value in extensions.items()}
        if ca_text is not None:
            options |= {f"{_TRUST}type": "PEM", f"{_TRUST}certificates": ca_text}
        elif ca_file is not None and ca_file != _SYSTEM_CA:
            options |= {f"{_TRUST}type": "PEM", f"{_TRUST}location": ca_file}
        translation.rest["sasl.jaas.config"] = jaas.line(OAUTH_MODULE, options | dict(login.options if login else {}))
    handler = translation.take(HANDLER_NAME) or HANDLER
    translation.done[HANDLER_NAME] = HANDLER if handler == OLD_HANDLER else handler
    translation.take_all(METHOD, GRANT, *_LIBRDKAFKA_ONLY)


def to_librdkafka(translation: Translation) -> None:
    """Translates for confluent_kafka's clients, and refuses what either client does not support."""
    if translation.mechanism != MECHANISM:
        return
    _refuse_other_ways(translation)
    login = _login(translation)
    translation.take("sasl.jaas.config")
    options = dict(login.options) if login else {}
    extensions = _extensions(translation) or {
        name.removeprefix(_EXTENSION): text for name, text in options.items() if name.startswith(_EXTENSION)
    }
    own = translation.take_all(*_OPTIONS, CA_FILE, CA_TEXT, SUBJECT, ENDPOINT)
    from_line = {name: options[option] for name, option in _OPTIONS.items() if option in options}
    done = translation.done
    done |= {METHOD: "oidc"} | from_line | own
    for name in (ENDPOINT, CLIENT_ID, CLIENT_SECRET):
        if not done.get(name):
            translation.refuse(name, f"is missing; {MECHANISM} gets a token there with client id and secret")
    if extensions:
        done[EXTENSIONS] = ",".join(f"{name}={value}" for name, value in extensions.items())
    if CA_FILE not in own and CA_TEXT not in own:
        _translate_trust(options, translation)
    translation.take_all(METHOD, GRANT, HANDLER_NAME)


def _login(translation: Translation) -> Login | None:
    """Returns what the line for Java holds; None if there is no valid one."""
    text = translation.rest.get("sasl.jaas.config")
    login = jaas.parse(text) if text is not None else None
    if text is not None and (login is None or login.module != OAUTH_MODULE):
        translation.refuse("sasl.jaas.config", f"must be of {OAUTH_MODULE} with sasl.mechanism {MECHANISM}")
        return None
    return login


def _extensions(translation: Translation) -> dict[str, str]:
    """Takes the extensions, given in one text or one by one."""
    found = {}
    for pair in (translation.take(EXTENSIONS) or "").split(","):
        if pair.strip():
            name, _, value = pair.partition("=")
            found[name.strip()] = value.strip()
    one_by_one = [name for name in translation.rest if name.startswith(f"{EXTENSIONS}.")]
    for name, value in translation.take_all(*one_by_one).items():
        found[name.removeprefix(f"{EXTENSIONS}.")] = value
    for name, value in found.items():
        if not _EXTENSION_NAME.fullmatch(name) or name == "auth":
            translation.refuse(EXTENSIONS, f"'{name}' is not an extension's name: letters only, and not 'auth'")
        elif "," in value:
            translation.refuse(f"{EXTENSIONS}.{name}", "must not contain a comma, which separates extensions")
    return found


def _translate_trust(options: dict[str, str], translation: Translation) -> None:
    """Translates the authorities for the token endpoint in Java's line."""
    if certificates := options.get(f"{_TRUST}certificates"):
        translation.done[CA_TEXT] = certificates
    elif location := options.get(f"{_TRUST}location"):
        if options.get(f"{_TRUST}type", "JKS").upper() == "PEM":
            translation.done[CA_FILE] = location
        else:
            what = "has a trust store for the token endpoint that only Java can read"
            translation.refuse("sasl.jaas.config", f"{what}; add {CA_FILE}, a PEM file of the same authorities")


def _refuse_other_ways(translation: Translation) -> None:
    way = "tokens are requested with client id and secret (OIDC client credentials)"
    for name in translation.take_all(*[name for name in translation.rest if name.startswith(_OTHER_WAYS)]):
        translation.refuse(name, f"is not supported: {way}")
    for name, expected in ((METHOD, "oidc"), (GRANT, "client_credentials")):
        if translation.rest.get(name, expected).lower() not in (expected, "default"):
            translation.refuse(name, f"must be {expected}: {way}")
    if translation.rest.get(HANDLER_NAME, HANDLER) not in (HANDLER, OLD_HANDLER):
        translation.refuse(HANDLER_NAME, f"must be {HANDLER}, or left out: {way}")
    for name in translation.take_all(*_LIBRDKAFKA_ONLY):
        translation.warn(name, f"has no effect: {way}")
