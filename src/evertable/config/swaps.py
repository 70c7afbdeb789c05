"""The sections ``control`` and ``swap``: where swaps are asked for, and how they are made."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from evertable.config import names
from evertable.config.choices import one_of
from evertable.config.section import Section

DAY_S = 24 * 60 * 60


class SwapMode(StrEnum):
    WARM = "warm"
    EAGER = "eager"


class Control(Section):
    """The topic whose messages re-wire everything: docs/CONTROL.md."""

    enabled: bool = Field(default=True, description="`false`: there is none, and swaps are asked for over REST alone")
    topic: Annotated[str, AfterValidator(names.topic)] = Field(
        default="",
        description="where control messages come from; made if it is missing. One that is given may be shared by apps",
        json_schema_extra={"default": "`<changelog.prefix>.<app>.control`"},
    )


class Swap(Section):
    """How one generation takes the place of another."""

    mode: Annotated[SwapMode, BeforeValidator(one_of(SwapMode))] = Field(
        default=SwapMode.WARM,
        description="`warm`: shown when it holds what its topics held; `eager`: as soon as its query runs",
    )
    timeout_s: int = Field(
        default=120, ge=1, le=DAY_S, description="a generation that takes longer to be warm has failed; not the first"
    )
    linger_s: int = Field(
        default=8, ge=0, le=DAY_S, description="how long the one before goes on, so that a rollback is instant"
    )
    max_lingering: int = Field(default=2, ge=0, le=100, description="how many of those before at most; 0: none")
    guard: bool = Field(
        default=True,
        description="hold a swap back if nothing useful was read from a new topic; it goes live with `force`",
    )
