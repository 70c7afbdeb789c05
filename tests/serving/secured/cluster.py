"""A secured broker with a listener for each mechanism, whose credentials and rights tests change."""

from __future__ import annotations

import ssl
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
from tests.certificates import Authority, Identity
from tests.serving.rig import Http, Records
from tests.serving.secured.tokens import TokenEndpoint
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.broker.settings import HOST
from evertable.client import Client
from evertable.kafka.oauth import OLD_HANDLER

USER = "evertable"
PASSWORD = "hunter2-planted"  # noqa: S105 - nobody's
TOKEN_LIFE_S = 6
"""Short, so that connections authenticate again several times during a test."""

TOPIC, PREFIXED = (ResourceType.TOPIC, ResourcePatternType.LITERAL), (ResourceType.TOPIC, ResourcePatternType.PREFIXED)
TRANSACTIONAL = (ResourceType.TRANSACTIONAL_ID, ResourcePatternType.LITERAL)
Right = tuple[tuple[ResourceType, ResourcePatternType], str, str]
"""A kind of resource, a name, and operations separated by blanks."""


@dataclass(frozen=True)
class Secured:
    """The broker, and everything that a client needs to log in."""

    broker: EmbeddedBroker
    ports: Mapping[str, int]
    authority: Authority
    client: Identity
    tokens: TokenEndpoint
    admin: AdminClient
    records: Records

    def topics(self, mark: str) -> tuple[str, str]:
        """Creates two topics with records."""
        names = (f"u-{uuid.uuid4()}", f"a-{uuid.uuid4()}")
        for answer in self.admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            answer.result()
        self.records.fill(names, mark)
        return names

    def address(self, listener: str) -> str:
        """Returns the value of ``bootstrap.servers`` for a listener."""
        return f"{HOST}:{self.ports[listener]}"

    def kafka(self, listener: str, password: str = PASSWORD) -> dict[str, Any]:
        """Returns the section ``kafka`` of a client of this listener."""
        shared = {"bootstrap.servers": self.address(listener), "ssl.ca.location": str(self.authority.ca)}
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
        """Changes the password that SCRAM accepts."""
        information = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        changed = UserScramCredentialUpsertion(USER, information, password.encode())
        for answer in self.admin.alter_user_scram_credentials([changed]).values():
            answer.result()

    def identity(self, listener: str, identity: Identity) -> None:
        """Changes the certificate of a listener, and waits until it is in use."""
        broker = ConfigResource(ResourceType.BROKER, "1")
        name = f"listener.name.{listener}.ssl.keystore.location"
        operation = AlterConfigOpType.SET
        broker.add_incremental_config(ConfigEntry(name, str(identity.both), incremental_operation=operation))
        for answer in self.admin.incremental_alter_configs([broker]).values():
            answer.result()
        shown = identity.certificate.read_text()
        wait_until(
            lambda: ssl.get_server_certificate((HOST, self.ports[listener])).strip() == shown.strip(), "the certificate"
        )

    def allow(self, *rights: Right) -> None:
        for answer in self.admin.create_acls(list(_acls(AclBinding, rights))).values():
            answer.result()

    def forbid(self, *rights: Right) -> None:
        for answer in self.admin.delete_acls(list(_acls(AclBindingFilter, rights))).values():
            answer.result()


def rights(app: str, topics: tuple[str, ...]) -> dict[str, Right]:
    """Returns the rights that docs/OPERATIONS.md lists for an app, by what they are for."""
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


def live(app: Http) -> dict[str, Any]:
    """Waits until a generation is live, and returns the status."""
    wait_until(lambda: app.status.get("state") == "live", lambda: "\n".join(app.logs))
    return app.status


def joined(app: Http) -> set[str]:
    """Returns the marks of the rows that a client finds in the joined table."""
    with Client(str(app.http.base_url)) as client:
        page = client.table("final_ui").page(columns=["name"], limit=100)
    assert page.total == 20
    return {str(name).partition(" ")[0] for (name,) in page.rows}
