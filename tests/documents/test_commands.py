"""docs/COMMANDS.md is the output of ``--help``, which is complete on any terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.reference import commands_page, help_texts
from tests.markdown import ROOT

EVERTABLE = Path(sys.executable).with_name("evertable")
TEXTS = help_texts()


def test_the_page_is_up_to_date() -> None:
    """`scripts/reference.py` updates it."""
    assert commands_page() == (ROOT / "docs" / "COMMANDS.md").read_text()


def test_the_commands_that_ask_a_server() -> None:
    named = {name for name, text in TEXTS.items() if "--url" in text and "--token-file" in text and "--ca " in text}
    assert f"({', '.join(f'`{name}`' for name in sorted(named))})" in commands_page()


@pytest.mark.parametrize("name", TEXTS)
def test_a_help_text_is_complete_and_has_an_example(name: str) -> None:
    """Its first sentence fits into the list of all commands, which truncates longer ones."""
    text = TEXTS[name]
    assert f"Example:  evertable {name}".rstrip() in text
    assert "..." not in text.partition("Options:")[2]
    assert len(text.split("\n\n")[1].strip()) <= 66


@pytest.mark.parametrize(("name", "width"), [("", "80"), ("swap", "40")])
def test_help_in_a_narrow_terminal_has_the_same_words(name: str, width: str) -> None:
    """Nothing is truncated, even with forced colours."""
    environment = {**os.environ, "COLUMNS": width, "FORCE_COLOR": "1"}
    shown = subprocess.run(
        [EVERTABLE, *name.split(), "-h"], env=environment, capture_output=True, text=True, check=True
    )
    assert "".join(shown.stdout.split()) == "".join(TEXTS[name].split())
