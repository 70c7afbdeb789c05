"""A remote viewer of a Deephaven server, in Deephaven's environment: says how old each record was when it came.

``at_deephaven.py PORT latency MESSAGES`` does so, once it has said that it is ready.
``at_deephaven.py PORT follow CALLED`` says what an open viewer, and one that opens the name again, see of a swap.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from pydeephaven import Session
from pydeephaven_ticking.table_listener import TableListener, TableUpdate, listen

SILENCE_S = 5.0
PATIENCE = 4
"""After this long without a record, none is waited for any more; so many times as long for the first one."""


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


class Listener(TableListener):
    def __init__(self, on_update: Callable[[TableUpdate], None]) -> None:
        self._on_update = on_update

    def on_update(self, update: TableUpdate) -> None:
        self._on_update(update)


def changed(update: TableUpdate, column: str) -> Iterator[Any]:
    """What a column shows in rows that are new or other than before; nulls left out."""
    for rows in (update.added(column), update.modified(column)):
        if column in rows:
            yield from (value for value in rows[column].to_pylist() if value is not None)


def latency(session: Session, messages: int) -> None:
    """Of rows that are added or modified; the server filters, so that the viewer holds only what came since now."""
    begin, done, ages = time.time_ns(), threading.Event(), list[float]()

    def on_update(update: TableUpdate) -> None:
        now = time.time_ns()
        ages.extend((now - stamp) / 1e6 for stamp in changed(update, "sentAt") if stamp >= begin)
        if len(ages) >= messages:
            done.set()

    table = session.open_table("final_ui").view(["name", "balance", "sentAt"]).where(f"sentAt >= {begin}L")
    handle = listen(table, Listener(on_update))
    handle.start()
    say(ready=True)
    seen, silences = 0, 0
    while not done.wait(SILENCE_S) and silences < (1 if ages else PATIENCE):
        silences = 0 if seen < len(ages) else silences + 1
        seen = len(ages)
    handle.stop()
    say(ages=ages)


def follow(session: Session, called: str) -> None:
    """When the first rows of new topics show on the first page of a viewer that stays, and of one that opens it again.

    Standard input says ``again`` when the name was bound anew, and ``end`` a while after the new rows were all there.
    """
    handles = []

    def watch(seen: dict[str, float]) -> None:
        def on_update(update: TableUpdate) -> None:
            if any(name.startswith(called) for name in changed(update, "name")):
                seen.setdefault("first_new", time.time())

        page = session.open_table("final_ui").head(100).view(["name"])
        handles.append(listen(page, Listener(on_update)))
        handles[-1].start()

    stayed: dict[str, float] = {}
    again: dict[str, float] = {}
    watch(stayed)
    say(ready=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        again["opened"] = time.time()
        watch(again)
    for handle in handles:
        handle.stop()
    say(stayed=stayed, again=again)


def main() -> None:
    port, what, argument = sys.argv[1:]
    session = Session(host="127.0.0.1", port=int(port))
    if what == "latency":
        latency(session, int(argument))
    else:
        follow(session, argument)
    session.close()


main()
