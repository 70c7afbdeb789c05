"""What the demo says when its tables are there: where to look, and what to try."""

from __future__ import annotations

import os
import webbrowser
from dataclasses import dataclass
from html import escape
from pathlib import Path

from evertable.demo.worlds import WORLDS


@dataclass(frozen=True)
class Invitation:
    """To one demo."""

    url: str
    token: str
    kafka: str

    @property
    def link(self) -> str:
        """Lets in whoever opens it: browsers do not send what comes after the ``#``."""
        return f"{self.url}/#token={self.token}"

    @property
    def text(self) -> str:
        users, accounts = WORLDS[1].topics
        return f"""
Open  {self.link}

In another terminal, while you watch:
  export EVERTABLE_URL={self.url} EVERTABLE_TOKEN={self.token}

  evertable swap --users-topic {users} --accounts-topic {accounts}
      {WORLDS[0].what} turn into {WORLDS[1].what}, in the same table, without a blink
  evertable swap --join left
      each user with every record of theirs, instead of the newest: final_ui grows
  evertable send {users} '{{"userId": "u1", "age": "forty-two"}}' --kafka {self.kafka}
      an age that is no number: the tables go on, and dead_letters says what was wrong with it

Ctrl-C stops everything.
"""

    def open(self, folder: Path) -> None:
        """In a browser, by a file that only this user can read: a link on a command line could be read by others."""
        path = folder / "open.html"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(self.link)}">')
        webbrowser.open(path.as_uri())
