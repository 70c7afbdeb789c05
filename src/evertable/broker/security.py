"""A secured broker: a listener for each way of proving who one is, and rights for those who did.

The plain listener stays, for those who set the broker up: whoever comes by it may do everything. So a secured broker is
one for tests and trials, as every embedded one is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MODULES = "org.apache.kafka.common.security"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_VALIDATOR = f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"


@dataclass(frozen=True)
class Listener:
    """One way in. Without a SASL mechanism (PLAIN, SCRAM-SHA-512, OAUTHBEARER …) clients show a certificate.

    ``identity`` is a PEM file with the broker's key, its certificate, and those that vouch for it.
    """

    identity: Path
    mechanism: str | None = None


@dataclass(frozen=True)
class Issuer:
    """Who issues the tokens that are believed; ``keys`` is the address of the keys that they are signed with."""

    keys: str
    name: str
    audience: str


@dataclass(frozen=True)
class Security:
    """How a broker is secured: its listeners by their names (lower-case letters), and who is known.

    ``ca`` is a PEM file of those who vouch for clients' certificates. ``users`` are PLAIN's, with their passwords;
    those of SCRAM are made through the plain listener, and so are rights (ACLs), which nobody has at first. A
    connection has to prove anew who it is after ``session_ms`` (0: never), or sooner, when its token has run out.
    """

    ca: Path
    listeners: Mapping[str, Listener]
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    issuer: Issuer | None = None
    session_ms: int = 0

    def java_options(self) -> list[str]:
        """What the broker's JVM is told: Kafka reads keys from nowhere else."""
        return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.issuer.keys}"] if self.issuer else []

    def properties(self, addresses: Mapping[str, str]) -> dict[str, str]:
        """The broker's properties; ``addresses`` are those of all listeners, PLAINTEXT and CONTROLLER included."""
        protocols = {name.upper(): _protocol(listener) for name, listener in self.listeners.items()}
        protocols |= {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
        clients = {name: address for name, address in addresses.items() if name != "CONTROLLER"}
        mechanisms = {listener.mechanism for listener in self.listeners.values() if listener.mechanism}
        found = {
            "listeners": _joined(addresses, "://"),
            "advertised.listeners": _joined(clients, "://"),
            "listener.security.protocol.map": _joined(protocols, ":"),
            "sasl.enabled.mechanisms": ",".join(sorted(mechanisms)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
            "authorizer.class.name": _AUTHORIZER,
            "super.users": "User:ANONYMOUS",  # the plain listener's
            "connections.max.reauth.ms": str(self.session_ms),
        }
        for name, listener in self.listeners.items():
            found |= self._listener(f"listener.name.{name}", listener)
        if self.issuer:
            found |= {
                "sasl.oauthbearer.jwks.endpoint.url": self.issuer.keys,
                "sasl.oauthbearer.expected.issuer": self.issuer.name,
                "sasl.oauthbearer.expected.audience": self.issuer.audience,
            }
        return found

    def _listener(self, prefix: str, listener: Listener) -> dict[str, str]:
        found = {f"{prefix}.ssl.keystore.type": "PEM", f"{prefix}.ssl.keystore.location": str(listener.identity)}
        if listener.mechanism is None:
            return found | {f"{prefix}.ssl.client.auth": "required"}
        own = f"{prefix}.{listener.mechanism.lower()}"
        found |= {f"{prefix}.ssl.client.auth": "none", f"{prefix}.sasl.enabled.mechanisms": listener.mechanism}
        match listener.mechanism:
            case "PLAIN":
                known = "".join(f' user_{user}="{password}"' for user, password in self.users.items())
                return found | {f"{own}.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required{known};"}
            case "OAUTHBEARER":
                module = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;"
                handler = {f"{own}.sasl.server.callback.handler.class": _VALIDATOR}
                return found | handler | {f"{own}.sasl.jaas.config": module}
            case _:
                return found | {f"{own}.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;"}


def _protocol(listener: Listener) -> str:
    return "SSL" if listener.mechanism is None else "SASL_SSL"


def _joined(parts: Mapping[str, str], between: str) -> str:
    return ",".join(f"{name.upper()}{between}{value}" for name, value in parts.items())
