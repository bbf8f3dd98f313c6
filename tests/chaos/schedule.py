"""Which faults come when: all of it follows from a seed."""

import random
from dataclasses import dataclass
from typing import Any

GAP = (1.0, 6.0)  # Seconds from one fault to the next.


@dataclass(frozen=True)
class Planned:
    """A fault, its time in seconds since the start, its target ("" is the whole pool), and for how long."""

    at: float
    fault: Any
    target: str
    seconds: float
    seed: str


def plan(seed, seconds, faults, targets, gap=GAP):
    """A list of Planned. `targets(fault)` is the list of names for a fault's targets."""
    rng = random.Random(seed)
    planned = []
    at = rng.uniform(*gap) + 2.0  # The first experiments begin before it.
    # Each fault is drawn once before any is drawn again, so that few seeds have all of them.
    deck = []
    while at < seconds:
        if not deck:
            deck = sorted(faults, key=lambda fault: rng.random() ** (1 / fault.weight))
        fault = deck.pop()
        names = targets(fault)
        target = rng.choice(names) if names else ""
        planned.append(Planned(at, fault, target, rng.uniform(*fault.seconds), f"{seed} {len(planned)}"))
        at += rng.uniform(*gap)
    return planned
