"""A secured broker's properties: a listener for each way to authenticate, and ACLs for authenticated users.

The plain listener stays for setting the broker up, and its clients may do everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.serving.secured.tokens import AUDIENCE, ISSUER

from evertable.broker.settings import HOST, NODE_ID

MECHANISMS = {"certificate": None, "plain": "PLAIN", "scram": "SCRAM-SHA-512", "tokens": "OAUTHBEARER"}
"""How clients of a listener authenticate; None: by their certificates."""
SESSION_MS = 60_000
"""How long a connection may last until it must authenticate again, or less if its token expires earlier."""

_MODULES = "org.apache.kafka.common.security"
_LOGIN = {"PLAIN": "plain.Plain", "SCRAM-SHA-512": "scram.Scram", "OAUTHBEARER": "oauthbearer.OAuthBearer"}


def properties(ports: Mapping[str, int], identity: Path, ca: Path, keys: str, **passwords: str) -> dict[str, str]:
    """Returns the properties for listeners at ``ports``, which also has those of ``PLAINTEXT`` and ``CONTROLLER``.

    ``identity`` is a PEM file with the broker's key and certificate chain, ``ca`` one with the authorities of clients'
    certificates, ``keys`` the address of the tokens' signing keys. ``passwords`` are those of PLAIN's users. SCRAM's
    users and all ACLs are created through the plain listener; at first there are none.
    """
    addresses = {name.upper(): f"://{HOST}:{port}" for name, port in ports.items()}
    protocols = {name.upper(): ":SASL_SSL" if mechanism else ":SSL" for name, mechanism in MECHANISMS.items()}
    protocols |= {"PLAINTEXT": ":PLAINTEXT", "CONTROLLER": ":PLAINTEXT"}
    found = {
        "listeners": _joined(addresses),
        "advertised.listeners": _joined({name: at for name, at in addresses.items() if name != "CONTROLLER"}),
        "controller.quorum.voters": f"{NODE_ID}@{HOST}:{ports['CONTROLLER']}",
        "listener.security.protocol.map": _joined(protocols),
        "sasl.enabled.mechanisms": ",".join(filter(None, MECHANISMS.values())),
        "sasl.oauthbearer.jwks.endpoint.url": keys,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca),
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        "ssl.allow.san.changes": "true",  # of a listener's certificate
        "ssl.allow.dn.changes": "true",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",  # the plain listener's
        "connections.max.reauth.ms": str(SESSION_MS),
        "listener.name.tokens.oauthbearer.sasl.server.callback.handler.class": (
            f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
    }
    users = "".join(f' user_{user}="{password}"' for user, password in passwords.items())
    for name, mechanism in MECHANISMS.items():
        own = f"listener.name.{name}"
        found |= {f"{own}.ssl.keystore.type": "PEM", f"{own}.ssl.keystore.location": str(identity)}
        found[f"{own}.ssl.client.auth"] = "none" if mechanism else "required"
        if mechanism:
            module = f"{_MODULES}.{_LOGIN[mechanism]}LoginModule required{users if mechanism == 'PLAIN' else ''};"
            found[f"{own}.sasl.enabled.mechanisms"] = mechanism
            found[f"{own}.{mechanism.lower()}.sasl.jaas.config"] = module
    return found


def java_options(keys: str) -> str:
    """Returns options for the broker's JVM: Kafka fetches keys only from allowed addresses."""
    return f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys}"


def _joined(by_name: Mapping[str, str]) -> str:
    return ",".join(f"{name}{text}" for name, text in by_name.items())
