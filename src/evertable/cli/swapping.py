"""What ``evertable swap`` and ``evertable rollback`` have in common: waiting for the outcome, and telling it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evertable.client.client import Client

TIMEOUT_S = 300.0
WAITING = "Waiting for the swap …"


def tell_outcome(client: Client, answer: Mapping[str, Any], *, wait: bool, timeout_s: float) -> None:
    """Prints what became of a swap; SwapError if it is not live, and is not going to be."""
    from rich.console import Console

    from evertable.client.swaps import Receipt

    receipt = Receipt.of(answer)
    console, verdict = Console(highlight=False, soft_wrap=True), receipt.verdict
    if not wait and not verdict.is_final:
        place = "" if receipt.partition == -1 else f": partition {receipt.partition}, offset {receipt.offset}"
        console.print(f"Sent{place}. Next: evertable status --watch", markup=False)
        return
    with (terminal := Console(stderr=True)).status(WAITING) as shown:
        on_wait = (lambda: shown.update(_so_far(client))) if terminal.is_terminal else (lambda: None)
        verdict = client.outcome(answer, timeout_s or None, on_wait)
    verdict.raise_unless_live()
    told = "Live" if verdict.result == "applied" else "Nothing changed"
    console.print(f"{told}{_now(client)}. Next: evertable status", markup=False)
    if verdict.reason:
        console.print(f"Warning: {verdict.reason}", markup=False)


def _so_far(client: Client) -> str:
    from rich.markup import escape

    from evertable.cli.overview import look
    from evertable.errors import EvertableError

    with suppress(EvertableError):  # a server that restarts is waited for
        if progress := look(client).progress:
            return escape(f"Waiting: {progress.line()}")
    return WAITING


def _now(client: Client) -> str:
    from evertable.cli.overview import look
    from evertable.errors import EvertableError

    with suppress(EvertableError):
        found = look(client)
        return f": {found.wiring}, generation {found.generation}" if found.wiring else ""
    return ""
