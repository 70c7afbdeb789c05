"""``/healthz`` and ``/readyz``."""

from __future__ import annotations

import httpx
from tests.live.samples import table
from tests.server.conftest import Serve

from evertable.tables.catalog import Catalog


def test_it_answers(client: httpx.Client) -> None:
    """Immediately after the start."""
    assert ((answer := client.get("/healthz")).status_code, answer.json()) == (200, {"status": "ok"})


def test_ready_when_every_name_has_a_table(serve: Serve) -> None:
    """Before that it lists what is missing, with a retry time."""
    catalog = Catalog(["users_ui", "final_ui"], {"generations": table()})
    with httpx.Client(base_url=serve(catalog).url) as client:
        answer = client.get("/readyz")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        message = "No generation is live yet. These tables are missing: users_ui, final_ui."
        assert {"condition": "NOT_READY", "message": message} == answer.json()
        catalog.publish(1, {"users_ui": table(), "final_ui": table()})
        assert ((answer := client.get("/readyz")).status_code, answer.json()) == (200, {"status": "ready"})
