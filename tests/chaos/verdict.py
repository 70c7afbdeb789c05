"""The verdict on a run, after the producer has stopped and everything is healed: a sentence for each problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from tests.chaos.oracle import differences, expected, shown
from tests.chaos.server import Built
from tests.chaos.stage import Stage
from tests.chaos.topics import Recreation, wired
from tests.serving.faults import changelogs

from evertable.client import Client
from evertable.errors import EvertableError
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring

SETTLE_S = 600  # generous: a busy machine takes minutes to start Spark
EQUAL_S = 240
NOTICED_S = 60
"""How late this suite may notice that a server ended by itself: at its next step."""
OVER = ("retired", "failed", "superseded", "held")


def verdict(stage: Stage, last_request: dict[str, str], report: Callable[[str], None]) -> list[str]:
    """Returns all problems: those that the chaos left, and those after one more swap, which must simply work."""
    problems = list(_settled_and_equal(stage, report))
    if not stage.server.life.publication:
        return [*problems, *stage.server.ended]  # nothing else can be checked
    report(f"One more swap: {last_request}")
    place = stage.server.life.control(wired(last_request, stage.sources.names))
    result = stage.server.life.verdict(place)
    if result["result"] not in ("applied", "unchanged"):
        problems.append(f"the last swap, with everything healed, was {result['result']}: {result['reason']}")
    problems += _settled_and_equal(stage, report)
    problems += [*_seen(stage), *_lost(stage), *_left(stage)]
    problems += stage.server.ended
    try:
        stage.server.stop()
    except AssertionError as error:
        problems.append(str(error))
    return problems


def _settled_and_equal(stage: Stage, report: Callable[[str], None]) -> Iterator[str]:
    try:
        stage.wait(lambda: not _unsettled(stage), "everything to settle", SETTLE_S)
    except AssertionError as error:
        yield f"{error}: {_unsettled(stage)}"
        return
    life = stage.server.life
    status = life.status
    wiring = Wiring(status["usersTopic"], status["accountsTopic"], JoinType(status["joinType"]))
    config = stage.config.rewired(wiring)
    report(f"Generation {status['generation']} is {status['state']}: {wiring}")
    with Client(stage.server.url) as client:
        columns, _ = shown(client)
        wanted = expected(config, wiring.join, columns, lambda source: stage.sources.held(source.topic))
        with suppress(AssertionError):  # the next line reports the differences
            stage.wait(lambda: not differences(wanted, _shown(client)), "tables that equal the reference", EQUAL_S)
        yield from differences(wanted, _shown(client))
    rows = life.rows("control_raw")
    applied = max((row for row in rows if row["result"] == "applied"), key=_order, default=None)
    for key in ("usersTopic", "accountsTopic", "joinType"):
        if applied and applied[key] and str(applied[key]) != status[key]:
            yield f"{key} is {status[key]}, but {applied[key]} in the last applied message"
    totals = {name: rows.total() for name, rows in wanted.items()}
    report(f"Compared with the reference: {totals}")


def _shown(client: Client) -> Any:
    try:
        return shown(client)[1]
    except EvertableError:
        return {}


def _unsettled(stage: Stage) -> list[str]:
    """Returns what is not settled yet."""
    life = stage.server.life
    status = life.status
    live = status.get("generation")
    found = [] if status.get("state") == "live" else [f"the status is {status}"]
    messages = life.rows("control_raw")
    found += [f"message {row['offset']} is pending" for row in messages if row["result"] == "pending"]
    read = 1 + max((row["offset"] for row in messages), default=-1)
    if not found and read < (end := stage.control_end()):
        found.append(f"messages {read} to {end - 1} were not read yet")
    for row in life.rows("generations"):
        if row["generation"] != live and not (row["state"] in OVER and row["retired"]):
            found.append(f"generation {row['generation']} is {row['state']}")
    return found


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["ts"], row["partition"], row["offset"]


def _seen(stage: Stage) -> Iterator[str]:
    """Checks that each generation's rows are of its topics, not of recreated ones, and that no table was empty."""
    witness, built = stage.witness, stage.server.built
    yield from (f"{what} ({count} times)" for what, count in witness.problems.items())
    for (generation, column), marks in witness.marks.items():
        of = built[generation]
        if column == "topic":
            if strange := marks - {of.left_topic, of.right_topic}:
                yield f"generation {generation} showed dead letters of {strange}: {of}"
            continue
        letter = (of.left_topic if column == "name" else of.right_topic)[-1]
        if len(marks) > 1 or any(mark[0] != letter for mark in marks):
            yield f"generation {generation} showed rows of {sorted(marks)}: {of}"
    listed = {row["generation"] for row in stage.server.life.rows("generations")}
    if forgotten := set(witness.generations.values()) - listed:
        yield f"the table generations lacks {sorted(forgotten)}, which viewers saw"
    for empty in witness.empty:
        of = built[empty.generation]
        topics = {"users_ui": (of.left_topic,), "accounts_ui": (of.right_topic,)}.get(
            empty.table, (of.left_topic, of.right_topic)
        )
        if not any(each.topic in topics and _built_in(each, of) for each in stage.sources.recreations):
            yield f"{empty.table} had rows and was empty in generation {empty.generation}: {of}"


def _built_in(recreation: Recreation, built: Built) -> bool:
    """Returns whether a generation was built while a topic was deleted, or recreated and still empty."""
    return recreation.deleted <= built.began <= recreation.filled


def _lost(stage: Stage) -> Iterator[str]:
    """Checks that sockets ended only with the server, and that all viewers have the last publication."""
    for loss in stage.crowd.losses:
        noticed = loss.ended + (NOTICED_S if "1012" in loss.how else 0)
        if not any(loss.opened - 1 <= ended <= noticed for ended in stage.server.ends):
            yield f"a socket ended by itself: {loss}"
    live = stage.server.life.publication
    try:
        stage.wait(lambda: stage.crowd.publications() == {live}, "all viewers on the last publication", 60)
    except AssertionError as error:
        yield f"{error}: {stage.crowd.publications()} instead of {live}"


def _left(stage: Stage) -> Iterator[str]:
    """Checks that only the live generation has a changelog and a checkpoint."""
    number = stage.server.life.status["generation"]
    name = f"g{number:06d}"
    topics = [f"evertable.{stage.app}.{name}"]
    folder = stage.disk.folder / stage.app

    def found() -> tuple[list[str], list[str]]:
        return changelogs(stage.broker.bootstrap, stage.app), sorted(path.name for path in folder.iterdir())

    with suppress(AssertionError):
        stage.wait(lambda: found() == (topics, [name]), "only the live generation's files and topics", SETTLE_S)
    if found() != (topics, [name]):
        yield f"there are topics {found()[0]} and checkpoints {found()[1]}, and generation {number} is live"
