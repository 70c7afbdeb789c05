"""One secured broker for all of these tests: a listener for each mechanism, and rights that tests give and take."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.security.authority import Authority, Identity
from tests.security.tokens import AUDIENCE, ISSUER, TokenEndpoint
from tests.serving.rig import Records
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker, Issuer, Listener, Security
from evertable.kafka.oauth import OLD_HANDLER

USER = "evertable"
PASSWORD = "hunter2-planted"  # noqa: S105 - nobody's
LIFE_S = 6
"""Of a token, and so of a connection: each has to prove anew who it is, again and again while a test runs."""

TOPIC, PREFIXED = (ResourceType.TOPIC, ResourcePatternType.LITERAL), (ResourceType.TOPIC, ResourcePatternType.PREFIXED)
TRANSACTIONAL = (ResourceType.TRANSACTIONAL_ID, ResourcePatternType.LITERAL)
Right = tuple[tuple[ResourceType, ResourcePatternType], str, str]
"""A kind of resource, a name, and operations with blanks between."""


@dataclass(frozen=True)
class Secured:
    """The broker and all that it takes to come in."""

    broker: EmbeddedBroker
    authority: Authority
    client: Identity
    tokens: TokenEndpoint
    admin: AdminClient
    records: Records

    def topics(self, mark: str) -> tuple[str, str]:
        """Two, with something in them."""
        names = (f"u-{uuid.uuid4()}", f"a-{uuid.uuid4()}")
        for answer in self.admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            answer.result()
        self.records.fill(names, mark)
        return names

    def kafka(self, listener: str, password: str = PASSWORD) -> dict[str, Any]:
        """The section ``kafka`` that comes in by a listener."""
        shared = {"bootstrap.servers": self.broker.secured(listener), "ssl.ca.location": str(self.authority.ca)}
        login = {"security.protocol": "SASL_SSL", "sasl.username": USER, "sasl.password": password}
        match listener:
            case "certificate":
                files = {"ssl.key.location": self.client.key, "ssl.certificate.location": self.client.certificate}
                return shared | {"security.protocol": "SSL", **{name: str(file) for name, file in files.items()}}
            case "plain":
                return shared | login | {"sasl.mechanism": "PLAIN"}
            case "scram":
                return shared | login | {"sasl.mechanism": "SCRAM-SHA-512"}
        return shared | {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": OLD_HANDLER,
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": self.tokens.url,
            "sasl.oauthbearer.client.id": USER,
            "sasl.oauthbearer.client.secret": password,
            "sasl.oauthbearer.scope": "kafka",
            "sasl.oauthbearer.extensions.logicalCluster": "lkc-1",
            "sasl.oauthbearer.extensions.identityPoolId": "pool-1",
            "https.ca.location": str(self.authority.ca),
        }

    def password(self, password: str) -> None:
        """What SCRAM asks for from now on."""
        information = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        told = UserScramCredentialUpsertion(USER, information, password.encode())
        for answer in self.admin.alter_user_scram_credentials([told]).values():
            answer.result()

    def identity(self, listener: str, identity: Identity) -> None:
        """What a listener shows to prove that it is who it says."""
        broker = ConfigResource(ResourceType.BROKER, "1")
        name = f"listener.name.{listener}.ssl.keystore.location"
        operation = AlterConfigOpType.SET
        broker.add_incremental_config(ConfigEntry(name, str(identity.both), incremental_operation=operation))
        for answer in self.admin.incremental_alter_configs([broker]).values():
            answer.result()
        host, _, port = self.broker.secured(listener).partition(":")
        shown = identity.certificate.read_text()
        wait_until(lambda: ssl.get_server_certificate((host, int(port))).strip() == shown.strip(), "the certificate")

    def allow(self, *rights: Right) -> None:
        for answer in self.admin.create_acls(list(_acls(AclBinding, rights))).values():
            answer.result()

    def forbid(self, *rights: Right) -> None:
        for answer in self.admin.delete_acls(list(_acls(AclBindingFilter, rights))).values():
            answer.result()


def rights(app: str, topics: tuple[str, ...]) -> dict[str, Right]:
    """All that docs/OPERATIONS.md says an app needs, by what it is for."""
    return {
        "users": (TOPIC, topics[0], "READ DESCRIBE DESCRIBE_CONFIGS"),
        "accounts": (TOPIC, topics[1], "READ DESCRIBE DESCRIBE_CONFIGS"),
        "control": (TOPIC, f"evertable.{app}.control", "READ DESCRIBE WRITE CREATE"),
        "state": (TOPIC, f"evertable.{app}.state", "READ WRITE DESCRIBE CREATE"),
        "changelogs": (PREFIXED, f"evertable.{app}.g", "READ WRITE DESCRIBE CREATE DELETE"),
        "lock": (TRANSACTIONAL, f"evertable.{app}", "WRITE DESCRIBE"),
    }


def _acls(kind: Any, rights: Iterable[Right]) -> Iterator[Any]:
    for (resource, pattern), name, operations in rights:
        for operation in operations.split():
            who = (f"User:{USER}", "*", AclOperation[operation], AclPermissionType.ALLOW)
            yield kind(resource, name, pattern, *who)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder)
    broker, client = authority.identity("broker"), authority.identity(USER)
    tokens = TokenEndpoint(folder, broker, {USER: PASSWORD}, LIFE_S)
    mechanisms = {"certificate": None, "plain": "PLAIN", "scram": "SCRAM-SHA-512", "tokens": "OAUTHBEARER"}
    security = Security(
        ca=authority.ca,
        listeners={name: Listener(broker.both, mechanism) for name, mechanism in mechanisms.items()},
        users={USER: PASSWORD},
        issuer=Issuer(tokens.keys.as_uri(), ISSUER, AUDIENCE),
        session_ms=60_000,
    )
    changing = {"ssl.allow.san.changes": "true", "ssl.allow.dn.changes": "true"}  # of a listener's certificate
    with EmbeddedBroker(security=security, properties=changing) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        found = Secured(running, authority, client, tokens, admin, Records(running.bootstrap))
        found.password(PASSWORD)
        yield found
    tokens.close()
