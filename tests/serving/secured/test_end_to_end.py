"""From topics to joined rows in a client, with no more rights than the documents list."""

from __future__ import annotations

import uuid
from pathlib import Path

from tests.serving.rig import App, config
from tests.serving.secured.cluster import Secured, joined, live, rights

from evertable.broker import EmbeddedBroker


def test_by_password_with_changelogs_on_another_cluster(
    secured: Secured, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """The user may only read the sources' cluster; nothing is created there."""
    app, topics = f"t{uuid.uuid4().hex[:12]}", secured.topics("plain")
    needed = rights(app, topics)
    secured.allow(needed["users"], needed["accounts"])
    sections = {
        "kafka": secured.kafka("plain"),
        "changelog": {"kafka": {"bootstrap.servers": broker.bootstrap}},
        "control": {"enabled": False},
    }
    with App(config("", app, topics, tmp_path, **sections), folder=tmp_path) as running:
        live(running)
        assert joined(running) == {"plain"}
        assert not any(app in name for name in secured.admin.list_topics().topics)
