"""One broker that wants proof of identity, for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient
from tests.certificates import Authority
from tests.proxy import distinct_ports
from tests.serving.rig import Records
from tests.serving.secured.cluster import PASSWORD, TOKEN_LIFE_S, USER, Secured
from tests.serving.secured.listeners import MECHANISMS, java_options, properties
from tests.serving.secured.tokens import TokenEndpoint

from evertable.broker import EmbeddedBroker


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder)
    broker, client = authority.identity("broker"), authority.identity(USER)
    tokens = TokenEndpoint(folder, broker, {USER: PASSWORD}, TOKEN_LIFE_S)
    names, keys = ("PLAINTEXT", "CONTROLLER", *MECHANISMS), tokens.keys.as_uri()
    ports = dict(zip(names, distinct_ports(len(names)), strict=True))
    settings = properties(ports, broker.both, authority.ca, keys, **{USER: PASSWORD})
    running = EmbeddedBroker(ports["PLAINTEXT"], properties=settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", java_options(keys))
        running.start()
    with running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap})
        found = Secured(running, ports, authority, client, tokens, admin, Records(running.bootstrap))
        found.password(PASSWORD)
        yield found
    tokens.close()
