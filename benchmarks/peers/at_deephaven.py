"""A remote viewer of a Deephaven server, in Deephaven's environment.

``at_deephaven.py PORT latency MESSAGES`` prints a line when it is ready, then the age of each record on arrival.
``at_deephaven.py PORT follow CALLED`` prints what an open viewer, and one that reopens the name, see of a swap.
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
"""How many times ``SILENCE_S`` the first record may take; others are not awaited longer than once."""


def respond(**what: object) -> None:
    print(json.dumps(what), flush=True)


class Listener(TableListener):
    def __init__(self, on_update: Callable[[TableUpdate], None]) -> None:
        self._on_update = on_update

    def on_update(self, update: TableUpdate) -> None:
        self._on_update(update)


def changed(update: TableUpdate, column: str) -> Iterator[Any]:
    """Yields the values of a column in added and modified rows, without nulls."""
    for rows in (update.added(column), update.modified(column)):
        if column in rows:
            yield from (value for value in rows[column].to_pylist() if value is not None)


def latency(session: Session, messages: int) -> None:
    """Measures added and modified rows; a filter at the server keeps older rows away from the viewer."""
    begin, done, ages = time.time_ns(), threading.Event(), list[float]()

    def on_update(update: TableUpdate) -> None:
        now = time.time_ns()
        ages.extend((now - stamp) / 1e6 for stamp in changed(update, "sentAt") if stamp >= begin)
        if len(ages) >= messages:
            done.set()

    table = session.open_table("final_ui").view(["name", "balance", "sentAt"]).where(f"sentAt >= {begin}L")
    handle = listen(table, Listener(on_update))
    handle.start()
    respond(ready=True)
    seen, silences = 0, 0
    while not done.wait(SILENCE_S) and silences < (1 if ages else PATIENCE):
        silences = 0 if seen < len(ages) else silences + 1
        seen = len(ages)
    handle.stop()
    respond(ages=ages)


def follow(session: Session, called: str) -> None:
    """Reports when the first rows of new topics reach a viewer that stays, and one that reopens the table.

    Standard input has ``again`` when the name was rebound, and ``end`` a while after all new rows are shown.
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
    respond(ready=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        again["opened"] = time.time()
        watch(again)
    for handle in handles:
        handle.stop()
    respond(stayed=stayed, again=again)


def main() -> None:
    port, what, argument = sys.argv[1:]
    session = Session(host="127.0.0.1", port=int(port))
    if what == "latency":
        latency(session, int(argument))
    else:
        follow(session, argument)
    session.close()


main()
