#!/usr/bin/env python3
"""Measures how fast one Python process writes to and samples from a replay server: one line of JSON a case.

usage: throughput.py (--server HOST:PORT | --binary build/release/bin/waggle-replay-server) [--seconds S] [--only TEXT]

Items are of CartPole's size unless a case says otherwise: 52 bytes in 5 columns, one row each, prioritised.
"""

import argparse
import json
import re
import subprocess
import time

import numpy as np

import waggle_client as waggle

COLUMNS = {
    "observation": waggle.Column("float32", (4,)),
    "action": waggle.Column("int64"),
    "reward": waggle.Column("float32"),
    "discount": waggle.Column("float32"),
    "next_observation": waggle.Column("float32", (5,)),
}
PRIORITIZED = waggle.prioritized(exponent=0.6)


def cartpole(name, **options):
    return waggle.Table(name, COLUMNS, sampler=PRIORITIZED, max_items=1_000_000, **options)


def wide(name, dtype, shape, items):
    return waggle.Table(name, {"column": waggle.Column(dtype, shape)}, sampler=PRIORITIZED, max_items=items)


def rows_of(columns, count):
    random = np.random.default_rng(1)
    return {
        name: random.integers(0, 100, (count, *column.shape)).astype(column.dtype) for name, column in columns.items()
    }


def rate(seconds, step):
    """Calls `step`, which returns its number of items, for so many seconds. Returns the start and the items."""
    step()
    items, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        items += step()
    return began, items


def insert_by_row(client, seconds):
    row = {
        "observation": np.ones(4, np.float32),
        "action": 1,
        "reward": 1.0,
        "discount": 0.99,
        "next_observation": np.ones(5, np.float32),
    }
    with client.writer("cartpole") as writer:
        stream = writer.stream()

        def step():
            for _ in range(1000):
                stream.append(row)
                stream.create_item("cartpole", rows=1, priority=1.5)
            return 1000

        began, items = rate(seconds, step)
        writer.flush(60)
        return items / (time.perf_counter() - began)


def insert_by_lanes(client, seconds):
    rows = rows_of(COLUMNS, 16)
    with client.writer("cartpole") as writer:
        lanes = writer.lanes(16)
        priorities = np.full(16, 1.5)

        def step():
            for _ in range(100):
                lanes.append(rows)
                lanes.create_items("cartpole", rows=1, priorities=priorities)
            return 1600

        began, items = rate(seconds, step)
        writer.flush(60)
        return items / (time.perf_counter() - began)


def insert_arrays(table, columns, count):
    def case(client, seconds):
        rows, priorities = rows_of(columns, count), np.full(count, 1.5)
        with client.writer(table) as writer:
            stream = writer.stream()

            def step():
                stream.append_rows(rows, waggle.Items(np.arange(count), rows=1, priorities=priorities))
                return count

            began, items = rate(seconds, step)
            writer.flush(60)
            return items / (time.perf_counter() - began)

    return case


def sample(table, batch_size):
    def case(client, seconds):
        with client.sampler(table, batch_size, prefetch=8, timeout=60) as sampler:

            def step():
                batch = sampler.next()
                return len(batch)

            began, items = rate(seconds, step)
            return items / (time.perf_counter() - began)

    return case


def update(client, seconds):
    batch = client.sample("cartpole", 512, timeout=60)

    def step():
        client.update_priorities("cartpole", batch.keys, batch.generations, batch.priorities)
        return len(batch)

    began, items = rate(seconds, step)
    return items / (time.perf_counter() - began)


def sample_and_update(client, seconds):
    with client.sampler("cartpole", 512, prefetch=8, timeout=60) as sampler:

        def step():
            batch = sampler.next()
            client.update_priorities("cartpole", batch.keys, batch.generations, batch.priorities)
            return len(batch)

        began, items = rate(seconds, step)
        return items / (time.perf_counter() - began)


FRAMES = {"column": waggle.Column("uint8", (4, 84, 84))}
CASES = {
    "insert, append and create_item a row": insert_by_row,
    "insert, 16 lanes": insert_by_lanes,
    "insert, arrays of 1000 rows": insert_arrays("cartpole", COLUMNS, 1000),
    "sample, batch 256": sample("cartpole", 256),
    "sample, batch 512": sample("cartpole", 512),
    "update priorities, batch 512": update,
    "sample and update, batch 512": sample_and_update,
    "insert 40 kB, arrays of 100 rows": insert_arrays("wide", {"column": waggle.Column("float32", (10_000,))}, 100),
    "sample 40 kB, batch 256": sample("wide", 256),
    "insert frames of 28 kB, arrays of 100 rows": insert_arrays("frames", FRAMES, 100),
    "sample frames of 28 kB, batch 32": sample("frames", 32),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server")
    parser.add_argument("--binary")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    server = None
    address = arguments.server
    if address is None:
        server = subprocess.Popen(
            [arguments.binary, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        address = next(
            match[1] for match in (re.search(r"serving replay on (\S+)", line) for line in server.stdout) if match
        )
    try:
        with waggle.Client(address) as client:
            client.create_table(cartpole("cartpole"))
            client.create_table(wide("wide", "float32", (10_000,), 2_000))
            client.create_table(wide("frames", "uint8", (4, 84, 84), 2_000))
            for name, case in CASES.items():
                if arguments.only in name:
                    per_second = case(client, arguments.seconds)
                    print(json.dumps({"case": name, "items_per_second": round(per_second)}), flush=True)
    finally:
        if server is not None:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
