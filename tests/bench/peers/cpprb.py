#!/usr/bin/env python3
"""cpprb's prioritised replay beside Waggle's table, each in its own process, without a network.

usage: tests/bench/peers/cpprb.py [PART_OF_A_CASE_NAME]

Build the benchmarks first (./dev build). Installs cpprb into build/peers/cpprb. Prints one JSON line per case:
Waggle's figure (replay_bench), cpprb's, and their ratio; both are the middle one of several rounds of the same run.

Transitions of CartPole: an observation and the next of four float32, an action, a reward, an end flag. cpprb adds
them 50 at a time, as its users do; Waggle's writers send 512 rows at a time, as its actors do. Waggle's items are
windows of three steps over such rows.
"""

import itertools
import os
import pathlib
import statistics
import sys
import time

import peer

peer.enter_environment("cpprb", ["cpprb==11.0.0"])

sys.path.pop(0)  # This file's own folder: it would be imported as "cpprb".
import cpprb  # noqa: E402
import numpy as np  # noqa: E402

ITEMS = 1_000_000
BATCH = 512
ROUNDS = 5
ROUND_SECONDS = 0.3


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def rows(count):
    random = np.random.default_rng(1)
    return {
        "obs": random.standard_normal((count, 4), np.float32),
        "act": random.integers(0, 2, count, np.int64),
        "rew": np.ones(count, np.float32),
        "next_obs": random.standard_normal((count, 4), np.float32),
        "done": np.zeros(count, np.float32),
    }


def full_buffer():
    shapes = {name: {"shape": column.shape[1:] or 1, "dtype": column.dtype} for name, column in rows(1).items()}
    buffer = cpprb.PrioritizedReplayBuffer(ITEMS, shapes, alpha=0.6)
    block = rows(1000)
    for _ in range(ITEMS // 1000):
        buffer.add(**block)
    return buffer


def rate(call, count):
    """The rate per second, with `count` units per call: the middle one of the rounds."""
    call()
    rounds = []
    for _ in range(ROUNDS):
        calls, begin = 0, time.perf_counter()
        while (taken := time.perf_counter() - begin) < ROUND_SECONDS:
            call()
            calls += 1
        rounds.append(calls * count / taken)
    return statistics.median(rounds)


def adding(buffer):
    block = rows(50)
    return rate(lambda: buffer.add(**block), 50)


def sampling(buffer):
    return rate(lambda: buffer.sample(BATCH, beta=0.4), BATCH)


def updating(buffer):
    random = np.random.default_rng(2)
    indexes = [buffer.sample(BATCH)["indexes"] for _ in range(64)]
    # Another period than the indexes': an unchanged priority costs cpprb nothing.
    priorities = [0.1 + random.random(BATCH) for _ in range(61)]
    steps = itertools.count()

    def update():
        step = next(steps)
        buffer.update_priorities(indexes[step % 64], priorities[step % 61])

    return rate(update, BATCH)


CASES = [
    # Measured in main() while the buffer is filled.
    ("memory_cartpole", "bytes/item", None),
    ("insert_cartpole", "items/s", adding),
    ("sample_cartpole_512", "items/s", sampling),
    ("update_priorities_512", "updates/s", updating),
]


def main():
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    before = resident_bytes()
    buffer = full_buffer()
    memory = (resident_bytes() - before) / ITEMS
    for case, unit, measure in CASES:
        if part in case:
            ours = peer.waggle("replay_bench", f"replay/{case}")
            theirs = memory if measure is None else measure(buffer)
            peer.report(case, unit, ours, "cpprb", theirs, less_is_better=measure is None)


main()
