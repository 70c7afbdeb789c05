"""One broker that wants proof of identity, for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient
from tests.certificates import Authority
from tests.serving.rig import Records
from tests.serving.secured.cluster import PASSWORD, TOKEN_LIFE_S, USER, Secured
from tests.serving.secured.tokens import AUDIENCE, ISSUER, TokenEndpoint

from evertable.broker import EmbeddedBroker, Issuer, Listener, Security


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder)
    broker, client = authority.identity("broker"), authority.identity(USER)
    tokens = TokenEndpoint(folder, broker, {USER: PASSWORD}, TOKEN_LIFE_S)
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
