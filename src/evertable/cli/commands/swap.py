"""``evertable swap``: changes the topics or the join while people watch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from evertable.cli.options import SWAP_TIMEOUT_S, Ca, Timeout, TokenFile, Url, Wait, open_client

if TYPE_CHECKING:
    from evertable.client.client import Client

USERS, ACCOUNTS, JOIN = "usersTopic", "accountsTopic", "joinType"
WAITING = "Waiting for the swap …"


def swap(
    left_topic: str | None = typer.Option(None, "--left-topic", help="The left source's topic."),
    right_topic: str | None = typer.Option(None, "--right-topic", help="The right source's topic."),
    users_topic: str | None = typer.Option(None, "--users-topic", help="The topic of the source users."),
    accounts_topic: str | None = typer.Option(None, "--accounts-topic", help="The topic of the source accounts."),
    join: str | None = typer.Option(None, "--join", help="inner, left, natural or asof."),
    values: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Any key: ordersTopic=orders_v2"),
    force: bool = typer.Option(False, "--force", help="Go live even if no usable record was read from a topic."),
    wait: Wait = True,
    timeout_s: Timeout = SWAP_TIMEOUT_S,
    url: Url = None,
    token_file: TokenFile = None,
    ca: Ca = None,
) -> None:
    """Point the tables at other topics, or change the join.

    Options that are left out change nothing. The exit code is 0 when the swap is live and 1, with the reason, when it
    was rejected, held, failed, or replaced by a newer one.

    Example:  evertable swap --users-topic users_v2 --join inner
    """
    named = [(USERS, users_topic), (ACCOUNTS, accounts_topic), (JOIN, join), *map(_key_and_value, values)]
    if all(value is None for value in (left_topic, right_topic, *(value for _, value in named))):
        raise typer.BadParameter("Nothing to change. Use --users-topic, --accounts-topic, --join, or --set KEY=VALUE.")
    with open_client(url, token_file, ca) as client:
        keys = _keys(client)
        message = _message([*zip(keys, (left_topic, right_topic), strict=False), *named], keys)
        print_outcome(client, client.swap(force=force, **message), wait=wait, timeout_s=timeout_s)


def print_outcome(client: Client, answer: Mapping[str, Any], *, wait: bool, timeout_s: float) -> None:
    """Waits for the result of a swap or a rollback, and prints it; SwapError if it is not live."""
    from rich.console import Console

    from evertable.client.swaps import SentMessage

    sent, console = SentMessage.from_answer(answer), Console(highlight=False, soft_wrap=True)
    if not wait and not sent.result.is_final:
        position = "" if sent.partition == -1 else f": partition {sent.partition}, offset {sent.offset}"
        console.print(f"Sent{position}. Next: evertable status --watch", markup=False)
        return
    with (terminal := Console(stderr=True)).status(WAITING) as spinner:
        on_wait = (lambda: spinner.update(_progress(client))) if terminal.is_terminal else (lambda: None)
        result = client.outcome(answer, timeout_s or None, on_wait)
    result.raise_unless_live()
    outcome = "Live" if result.result == "applied" else "Nothing changed"
    console.print(f"{outcome}{_live_wiring(client)}. Next: evertable status", markup=False)
    if result.reason:
        console.print(f"Warning: {result.reason}", markup=False)


def _progress(client: Client) -> str:
    from rich.markup import escape

    from evertable.cli.summary import read_summary
    from evertable.errors import EvertableError

    with suppress(EvertableError):  # the server may be restarting
        if progress := read_summary(client).progress:
            return escape(f"Waiting: {progress}")
    return WAITING


def _live_wiring(client: Client) -> str:
    from evertable.cli.summary import wiring_of
    from evertable.errors import EvertableError

    with suppress(EvertableError):
        row = client.status()["orchestrator"] or {}
        if wiring := wiring_of(row):
            return f": {wiring}, generation {row['generation']}"
    return ""


def _key_and_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise typer.BadParameter(f"'{text}' is not KEY=VALUE, such as usersTopic=users_v2", param_hint="--set")
    return key.strip(), value


def _keys(client: Client) -> list[str]:
    """Returns the server's keys for the left topic, the right topic and the join."""
    from evertable.client.errors import ServerRefusedError
    from evertable.client.swaps import CONTROL_TABLE

    try:
        return [column.name for column in client.table(CONTROL_TABLE).page(limit=1).columns[:3]]
    except ServerRefusedError as refused:
        if refused.condition != "TABLE_NOT_FOUND":
            raise
        return [USERS, ACCOUNTS, JOIN]  # a server without an orchestrator, which will refuse the swap itself


def _message(pairs: Iterable[tuple[str, str | None]], keys: Sequence[str]) -> dict[str, str]:
    message: dict[str, str] = {}
    for key, value in pairs:
        if value is None:
            continue
        if key not in keys:  # the server would ignore the key and only log a warning
            raise typer.BadParameter(f"'{key}' is not a key of this server; known are {', '.join(keys)}.")
        if key in message:
            raise typer.BadParameter(f"{key} is given twice.")
        message[key] = value
    return message
