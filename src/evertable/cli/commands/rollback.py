"""``evertable rollback``: goes back to the wiring before the live one."""

from __future__ import annotations

from evertable.cli.commands.swap import print_outcome
from evertable.cli.options import SWAP_TIMEOUT_S, Ca, Timeout, TokenFile, Url, Wait, open_client


def rollback(
    wait: Wait = True,
    timeout_s: Timeout = SWAP_TIMEOUT_S,
    url: Url = None,
    token_file: TokenFile = None,
    ca: Ca = None,
) -> None:
    """Go back to the wiring that was live before this one.

    This is instant while the previous generation lingers; otherwise it is rebuilt.

    Example:  evertable rollback --timeout 60
    """
    with open_client(url, token_file, ca) as client:
        print_outcome(client, client.rollback(), wait=wait, timeout_s=timeout_s)
