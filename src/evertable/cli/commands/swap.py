"""``evertable swap``: other topics or another join, while people watch."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evertable.cli.swapping import TIMEOUT_S, tell_outcome

if TYPE_CHECKING:
    from evertable.client.client import Client

USERS, ACCOUNTS, JOIN = "usersTopic", "accountsTopic", "joinType"


def swap(
    left_topic: str | None = typer.Option(None, "--left-topic", help="The left source's topic."),
    right_topic: str | None = typer.Option(None, "--right-topic", help="The right source's topic."),
    users_topic: str | None = typer.Option(None, "--users-topic", help="The topic of the source users."),
    accounts_topic: str | None = typer.Option(None, "--accounts-topic", help="The topic of the source accounts."),
    join: str | None = typer.Option(None, "--join", help="inner, left, natural or asof."),
    values: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Any key: ordersTopic=orders_v2"),
    force: bool = typer.Option(False, "--force", help="Go live even if nothing useful was read from a topic."),
    wait: bool = typer.Option(True, "--wait/--no-wait", help="Return when it is live; or when it was sent."),
    timeout_s: float = typer.Option(TIMEOUT_S, "--timeout", min=0, help="Seconds to wait at most; 0: for ever."),
    url: str | None = typer.Option(
        None, "--url", envvar="EVERTABLE_URL", show_default="http://127.0.0.1:10000", help="The server's address."
    ),
    token_file: Path | None = typer.Option(None, "--token-file", help="Holds the token; else EVERTABLE_TOKEN does."),
    ca: Path | None = typer.Option(None, "--ca", help="PEM file to check the server's certificate with."),
) -> None:
    """Point the tables at other topics, or change the join.

    Options that are left out change nothing. The exit code is 0 when the swap is live and 1, with the reason, when it
    was rejected, held back, failed, or replaced by a newer one.

    Example:  evertable swap --users-topic users_v2 --join inner
    """
    from evertable.client.client import Client

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    named = [(USERS, users_topic), (ACCOUNTS, accounts_topic), (JOIN, join), *map(_pair, values)]
    if all(value is None for value in (left_topic, right_topic, *(value for _, value in named))):
        raise typer.BadParameter("Say what to change: --users-topic, --accounts-topic, --join, or --set KEY=VALUE.")
    with Client.given(url, token_file, ca) as client:
        keys = _keys(client)
        message = _message([*zip(keys, (left_topic, right_topic), strict=False), *named], keys)
        tell_outcome(client, client.swap(force=force, **message), wait=wait, timeout_s=timeout_s)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise typer.BadParameter(f"'{text}' is no KEY=VALUE, such as usersTopic=users_v2", param_hint="--set")
    return key.strip(), value


def _keys(client: Client) -> list[str]:
    """What the server calls the left topic, the right topic and the join."""
    from evertable.client.errors import ServerRefusedError
    from evertable.client.swaps import MESSAGES

    try:
        return [column.name for column in client.table(MESSAGES).page(limit=1).columns[:3]]
    except ServerRefusedError as refused:
        if refused.condition != "TABLE_NOT_FOUND":
            raise
        return [USERS, ACCOUNTS, JOIN]  # a server that nothing can be asked of, which it says itself


def _message(given: Iterable[tuple[str, str | None]], keys: Sequence[str]) -> dict[str, str]:
    message: dict[str, str] = {}
    for key, value in given:
        if value is None:
            continue
        if key not in keys:  # the server would ignore it with a warning that nobody sees here
            raise typer.BadParameter(f"'{key}' is nothing that can be changed here; known are {', '.join(keys)}.")
        if key in message:
            raise typer.BadParameter(f"{key} is given twice.")
        message[key] = value
    return message
