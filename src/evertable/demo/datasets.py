"""Sample data: three datasets with the same columns and visibly different content, each for a pair of topics."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

COLUMNS = {
    "users": {"userId": "string", "name": "string", "email": "string", "age": "long"},
    "accounts": {"userId": "string", "accountType": "string", "balance": "double"},
}

Record = dict[str, object]


@dataclass(frozen=True)
class Dataset:
    """Generates the users and accounts of one pair of topics."""

    number: int
    title: str
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    domain: str
    account_types: tuple[str, ...]
    ages: tuple[int, int]
    max_balance: int
    """The largest balance at the start."""

    @property
    def topics(self) -> tuple[str, str]:
        return f"users_v{self.number}", f"accounts_v{self.number}"

    def users(self, count: int) -> Iterator[Record]:
        """Yields the same users each time. All datasets share the ids, so that their topics can be joined."""
        rng = random.Random(self.number)  # noqa: S311 - sample data
        for number in range(count):
            first, last = rng.choice(self.first_names), rng.choice(self.last_names)
            email = f"{first}.{last}{number}@{self.domain}".lower().replace(" ", "")
            yield {"userId": f"u{number}", "name": f"{first} {last}", "email": email, "age": rng.randint(*self.ages)}

    def accounts(self, users: int, rng: random.Random) -> Iterator[Record]:
        """Yields an account for nine of ten users, then changed balances without end."""
        current: dict[int, tuple[str, float]] = {}
        for number in range(users):
            if number % 10 != 9:  # users without an account show how the joins differ
                current[number] = rng.choice(self.account_types), round(rng.uniform(1, self.max_balance), 2)
                yield _account(number, *current[number])
        owners = list(current)
        while owners:
            number = rng.choice(owners)
            kind, balance = current[number]
            current[number] = kind, round(max(0.0, balance + rng.gauss(0, self.max_balance / 50)), 2)
            yield _account(number, *current[number])


def _account(number: int, kind: str, balance: float) -> Record:
    return {"userId": f"u{number}", "accountType": kind, "balance": balance}


DATASETS = (
    Dataset(
        1,
        "a bank's customers",
        ("Ada", "Bruno", "Chiara", "Dana", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Luca", "Mara"),
        ("Berg", "Costa", "Dahl", "Fontaine", "Haddad", "Ito", "Keller", "Moreau", "Novak", "Okafor", "Silva", "Weiss"),
        "bank.example",
        ("chq", "sav", "loan"),
        (18, 90),
        20_000,
    ),
    Dataset(
        2,
        "a fleet of robots",
        ("Axle", "Bolt", "Cog", "Dynamo", "Echo", "Flux", "Gizmo", "Helix", "Ion", "Jolt", "Kernel", "Laser", "Servo"),
        ("Mk I", "Mk II", "Mk III", "Mk IV", "Mk V", "Mk VI", "Mk VII"),
        "robots.example",
        ("battery", "spare parts", "mileage"),
        (0, 12),
        500,
    ),
    Dataset(
        3,
        "a zoo's animals",
        ("Amber", "Bruin", "Clover", "Dusty", "Ember", "Fern", "Ginger", "Hazel", "Ivy", "Juno", "Koda", "Luna"),
        ("the Otter", "the Lynx", "the Crane", "the Tapir", "the Badger", "the Ibis", "the Gecko", "the Wombat"),
        "zoo.example",
        ("hay", "fish", "fruit"),
        (1, 40),
        90,
    ),
)
