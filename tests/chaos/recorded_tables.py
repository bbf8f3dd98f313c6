"""The tables that a chaos run keeps a history of, and their items.

Item n has the last WINDOW rows of its stream, or as many as there are. Each row has the number of the item that it
completes, and bytes that follow from the number, so that each item can be checked by itself.
"""

import hashlib
from dataclasses import dataclass

from history_checker import TableRule

WINDOW = 3
PAYLOAD = 48
NUMBERS_OF_A_WRITER = 10**7
RULES = {
    "chaos_log": TableRule("log"),
    "chaos_sync": TableRule("sync"),
    "chaos_ring": TableRule("log", max_items=500),
}


@dataclass(frozen=True)
class Lie:
    """A promise that is broken on purpose, to test that the checker finds out."""

    durability: str = "log"  # "none" makes tables that a crash empties.
    acknowledge_early: bool = False  # The client calls an item acknowledged before its server does.


LIES = {"": Lie(), "durability": Lie(durability="none"), "early": Lie(acknowledge_early=True)}


def payload(number):
    return hashlib.sha384(str(number).encode()).digest()[:PAYLOAD]


def row_is_right(number, data):
    return bytes(data) == payload(number)


def table(waggle, name, lie):
    """The configuration for waggle_client, which is passed as `waggle`."""
    rule = RULES[name]
    return waggle.Table(
        name,
        columns={"number": waggle.Column("int64"), "payload": waggle.Column("uint8", (PAYLOAD,))},
        view={"number": waggle.last("number"), "payload": waggle.last("payload"), "numbers": waggle.all_rows("number")},
        max_items=rule.max_items or 1_000_000,
        max_window=WINDOW,
        durability=lie.durability,
        log_sync=rule.level == "sync" and lie.durability == "log",
    )
