"""OAUTHBEARER with client credentials (OIDC) in both dialects.

Spark's client is told everything but the endpoint in a login module's line; librdkafka has properties of its own.
"""

from __future__ import annotations

import re

from evertable.kafka import jaas
from evertable.kafka.jaas import OAUTH_MODULE, Login
from evertable.kafka.notes import Notes, Texts

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

# Other ways to a token, which one of the two clients does not know.
_OTHER_WAYS = ("sasl.oauthbearer.assertion.", "sasl.oauthbearer.metadata.authentication.type")
_LIBRDKAFKA_ONLY = ("sasl.oauthbearer.config", "enable.sasl.oauthbearer.unsecure.jwt")

_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_PROBE = "probe"  # librdkafka's word for the system's own


def to_java(rest: Texts, done: Texts, notes: Notes) -> None:
    """For Spark's client."""
    if not _is_used(rest):
        return
    login = _login(rest, notes)
    extensions = _extensions(rest, notes)
    ca_file, ca_text = rest.pop(CA_FILE, None), rest.pop(CA_TEXT, None)
    given = {_OPTIONS[name]: rest.pop(name) for name in _OPTIONS if name in rest}
    if login is None or "clientId" not in login.options:
        options = given | {f"{_EXTENSION}{name}": value for name, value in extensions.items()}
        if ca_text is not None:
            options |= {f"{_TRUST}type": "PEM", f"{_TRUST}certificates": ca_text}
        elif ca_file is not None and ca_file != _PROBE:
            options |= {f"{_TRUST}type": "PEM", f"{_TRUST}location": ca_file}
        rest["sasl.jaas.config"] = jaas.line(OAUTH_MODULE, options | dict(login.options if login else {}))
    handler = rest.pop(HANDLER_NAME, HANDLER)
    done[HANDLER_NAME] = HANDLER if handler == OLD_HANDLER else handler
    for name in (METHOD, GRANT, *_LIBRDKAFKA_ONLY):
        rest.pop(name, None)


def to_librdkafka(rest: Texts, done: Texts, notes: Notes) -> None:
    """For confluent_kafka's clients; what cannot be said to both is refused here, once."""
    if not _is_used(rest):
        return
    _refuse_other_ways(rest, notes)
    login = _login(rest, notes)
    rest.pop("sasl.jaas.config", None)
    options = dict(login.options) if login else {}
    extensions = _extensions(rest, notes) or _extensions_of(options)
    own = {name: rest.pop(name) for name in (*_OPTIONS, CA_FILE, CA_TEXT, SUBJECT, ENDPOINT) if name in rest}
    told = {name: options[option] for name, option in _OPTIONS.items() if option in options}
    done |= {METHOD: "oidc"} | told | own
    for name in (ENDPOINT, CLIENT_ID, CLIENT_SECRET):
        if not done.get(name):
            notes.refuse(name, f"is missing; {MECHANISM} asks there for a token, with client id and secret")
    if extensions:
        done[EXTENSIONS] = ",".join(f"{name}={value}" for name, value in extensions.items())
    if CA_FILE not in own and CA_TEXT not in own:
        _trust(options, done, notes)
    for name in (METHOD, GRANT, HANDLER_NAME):
        rest.pop(name, None)


def _is_used(rest: Texts) -> bool:
    return rest.get("sasl.mechanism", "").upper() == MECHANISM


def _login(rest: Texts, notes: Notes) -> Login | None:
    """What the line for Java says, if there is one that fits."""
    text = rest.get("sasl.jaas.config")
    login = jaas.parse(text) if text is not None else None
    if text is not None and (login is None or login.module != OAUTH_MODULE):
        notes.refuse("sasl.jaas.config", f"must be of {OAUTH_MODULE} with sasl.mechanism {MECHANISM}")
        return None
    return login


def _extensions(rest: Texts, notes: Notes) -> dict[str, str]:
    """Those that were given, in one text or one by one; taken out."""
    found = {}
    for pair in rest.pop(EXTENSIONS, "").split(","):
        if pair.strip():
            name, _, value = pair.partition("=")
            found[name.strip()] = value.strip()
    for name in [name for name in rest if name.startswith(f"{EXTENSIONS}.")]:
        found[name.removeprefix(f"{EXTENSIONS}.")] = rest.pop(name)
    for name, value in found.items():
        if not _EXTENSION_NAME.fullmatch(name) or name == "auth":
            notes.refuse(EXTENSIONS, f"'{name}' is no extension's name: letters only, and not 'auth'")
        elif "," in value:
            notes.refuse(f"{EXTENSIONS}.{name}", "must have no comma, which stands between extensions")
    return found


def _extensions_of(options: Texts) -> dict[str, str]:
    return {name.removeprefix(_EXTENSION): text for name, text in options.items() if name.startswith(_EXTENSION)}


def _trust(options: Texts, done: Texts, notes: Notes) -> None:
    """Who vouches for the token endpoint, as the line for Java says it."""
    if certificates := options.get(f"{_TRUST}certificates"):
        done[CA_TEXT] = certificates
    elif location := options.get(f"{_TRUST}location"):
        if options.get(f"{_TRUST}type", "JKS").upper() == "PEM":
            done[CA_FILE] = location
        else:
            what = "has a trust store for the token endpoint that only Java can read"
            notes.refuse("sasl.jaas.config", f"{what}; add {CA_FILE}, a PEM file of the same authorities")


def _refuse_other_ways(rest: Texts, notes: Notes) -> None:
    way = "tokens are asked for with client id and secret (OIDC client credentials)"
    for name in [name for name in rest if name.startswith(_OTHER_WAYS)]:
        notes.refuse(name, f"is not supported: {way}")
        del rest[name]
    for name, fine in ((METHOD, "oidc"), (GRANT, "client_credentials")):
        if rest.get(name, fine).lower() not in (fine, "default"):
            notes.refuse(name, f"must be {fine}: {way}")
    if rest.get(HANDLER_NAME, HANDLER) not in (HANDLER, OLD_HANDLER):
        notes.refuse(HANDLER_NAME, f"must be {HANDLER}, or left out: {way}")
    for name in _LIBRDKAFKA_ONLY:
        if name in rest:
            notes.warn(name, f"has no effect: {way}")
            del rest[name]
