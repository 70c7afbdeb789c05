"""The message that the demo prints when its tables are ready."""

from __future__ import annotations

import os
import webbrowser
from html import escape
from pathlib import Path

from evertable.demo.datasets import DATASETS


def link_to(url: str, token: str) -> str:
    """Returns the page's address with the token behind ``#``, which browsers do not send to servers."""
    return f"{url}/#token={token}"


def welcome(url: str, token: str, kafka: str) -> str:
    """Returns the link to one demo, and commands to try with it."""
    users, accounts = DATASETS[1].topics
    return f"""
Open  {link_to(url, token)}

In another terminal, while the page is open:
  export EVERTABLE_URL={url} EVERTABLE_TOKEN={token}

  evertable swap --users-topic {users} --accounts-topic {accounts}
      {DATASETS[0].title} turn into {DATASETS[1].title}, in the same table, without a reload
  evertable swap --join left
      each user is joined with all of their accounts records, not only the newest: final_ui grows
  evertable send {users} '{{"userId": "u1", "age": "forty-two"}}' --kafka {kafka}
      an age that is not a number: the tables continue, and dead_letters shows the reason

Ctrl-C stops everything.
"""


def open_page(link: str, folder: Path) -> None:
    """Opens a browser by way of a file that only this user can read, because others can see command lines."""
    path = folder / "open.html"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(link)}">')
    webbrowser.open(path.as_uri())
