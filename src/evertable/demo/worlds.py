"""Sample data: three worlds with the same columns and visibly different people, each a pair of topics."""

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
class World:
    """One pair of topics: who lives there, and what they own."""

    number: int
    what: str
    first: tuple[str, ...]
    last: tuple[str, ...]
    domain: str
    kinds: tuple[str, ...]
    ages: tuple[int, int]
    top: int
    """The largest balance to begin with."""

    @property
    def topics(self) -> tuple[str, str]:
        return f"users_v{self.number}", f"accounts_v{self.number}"

    def users(self, count: int) -> Iterator[Record]:
        """The same ones each time; ids are those of the other worlds too, so that halves of pairs join."""
        chance = random.Random(self.number)  # noqa: S311 - sample data
        for number in range(count):
            first, last = chance.choice(self.first), chance.choice(self.last)
            email = f"{first}.{last}{number}@{self.domain}".lower().replace(" ", "")
            yield {"userId": f"u{number}", "name": f"{first} {last}", "email": email, "age": chance.randint(*self.ages)}

    def accounts(self, users: int, chance: random.Random) -> Iterator[Record]:
        """For ever: first one for each of nine users in ten, then again one of these, its balance a little moved."""
        held: dict[int, tuple[str, float]] = {}
        for number in range(users):
            if number % 10 != 9:  # so that joins differ in what they do with users who own nothing
                held[number] = chance.choice(self.kinds), round(chance.uniform(1, self.top), 2)
                yield _account(number, *held[number])
        owners = list(held)
        while owners:
            number = chance.choice(owners)
            kind, balance = held[number]
            held[number] = kind, round(max(0.0, balance + chance.gauss(0, self.top / 50)), 2)
            yield _account(number, *held[number])


def _account(number: int, kind: str, balance: float) -> Record:
    return {"userId": f"u{number}", "accountType": kind, "balance": balance}


WORLDS = (
    World(
        1,
        "a bank's customers",
        ("Ada", "Bruno", "Chiara", "Dana", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Luca", "Mara"),
        ("Berg", "Costa", "Dahl", "Fontaine", "Haddad", "Ito", "Keller", "Moreau", "Novak", "Okafor", "Silva", "Weiss"),
        "bank.example",
        ("chq", "sav", "loan"),
        (18, 90),
        20_000,
    ),
    World(
        2,
        "a fleet of robots",
        ("Axle", "Bolt", "Cog", "Dynamo", "Echo", "Flux", "Gizmo", "Helix", "Ion", "Jolt", "Kernel", "Laser", "Servo"),
        ("Mk I", "Mk II", "Mk III", "Mk IV", "Mk V", "Mk VI", "Mk VII"),
        "robots.example",
        ("battery", "spare parts", "mileage"),
        (0, 12),
        500,
    ),
    World(
        3,
        "a zoo's animals",
        (
            "Amber",
            "Bruin",
            "Clover",
            "Dusty",
            "Ember",
            "Fern",
            "Ginger",
            "Hazel",
            "Ivy",
            "Juno",
            "Koda",
            "Luna",
            "Maple",
        ),
        ("the Otter", "the Lynx", "the Crane", "the Tapir", "the Badger", "the Ibis", "the Gecko", "the Wombat"),
        "zoo.example",
        ("hay", "fish", "fruit"),
        (1, 40),
        90,
    ),
)
