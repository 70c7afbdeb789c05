"""A secured broker: a listener for each way to authenticate, and ACLs for authenticated users.

The plain listener stays for setting the broker up, and its clients may do everything. So a secured broker, like every
embedded one, is only for tests and trials.
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
    """One secured listener. Without a SASL mechanism (PLAIN, SCRAM-SHA-512, OAUTHBEARER …) clients need a certificate.

    ``identity`` is a PEM file with the broker's key and its certificate chain.
    """

    identity: Path
    mechanism: str | None = None


@dataclass(frozen=True)
class Issuer:
    """The trusted issuer of tokens; ``keys`` is the address of its signing keys."""

    keys: str
    name: str
    audience: str


@dataclass(frozen=True)
class Security:
    """How a broker is secured: its listeners by name (lower-case letters), and its users.

    ``ca`` is a PEM file with the authorities of clients' certificates. ``users`` are PLAIN's, with their passwords.
    SCRAM's users and all ACLs are created through the plain listener; at first there are none. A connection must
    authenticate again after ``session_ms`` (0: never), or earlier if its token expires.
    """

    ca: Path
    listeners: Mapping[str, Listener]
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    issuer: Issuer | None = None
    session_ms: int = 0

    def java_options(self) -> list[str]:
        """Returns options for the broker's JVM: Kafka fetches keys only from allowed addresses."""
        return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.issuer.keys}"] if self.issuer else []

    def properties(self, addresses: Mapping[str, str]) -> dict[str, str]:
        """Returns the broker's properties; ``addresses`` are those of all listeners, with PLAINTEXT and CONTROLLER."""
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
