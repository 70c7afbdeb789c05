"""From topics to joined rows in a client, with the rights that the documents name and no more."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from tests.security.conftest import Secured, rights
from tests.serving.rig import App, Http, config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.client import Client


def live(app: Http) -> dict[str, Any]:
    """The status, once a generation is live."""
    wait_until(lambda: app.status.get("state") == "live", lambda: "\n".join(app.logs))
    return app.status


def joined(app: Http) -> set[str]:
    """What a client sees in the joined table."""
    with Client(str(app.http.base_url)) as client:
        page = client.table("final_ui").page(columns=["name"], limit=100)
    assert page.total == 20
    return {str(name).partition(" ")[0] for (name,) in page.rows}


def test_by_password_with_changelogs_on_another_cluster(
    secured: Secured, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Those who may only read where the sources are; nothing is made there."""
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
