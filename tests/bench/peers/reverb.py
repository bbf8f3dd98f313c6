#!/usr/bin/env python3
"""Reverb's replay server beside Waggle's, each server and each client in its own process.

usage: tests/bench/peers/reverb.py [PART_OF_A_CASE_NAME]

Build the benchmarks first (./dev build). Needs Python 3.9 to 3.11; installs dm-reverb with its TensorFlow into
build/peers/reverb. Prints one JSON line per case: Waggle's figure, Reverb's, and their ratio; both are the middle one of
several rounds of the same run. Takes about ten minutes; three of them fill Reverb's table with a million items.

Reverb is used as its documentation shows: one TrajectoryWriter per producer, and TrajectoryDataset to sample, batched
by tf.data. Its frames are steps of four stacked ones; an item has the first and the last of its four steps.
"""

import math
import mmap
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peer

peer.enter_environment("reverb", ["dm-reverb[tensorflow]==0.14.0"])

sys.path.pop(0)  # This file's own folder: it would be imported as "reverb".
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np  # noqa: E402
import reverb  # noqa: E402
import tensorflow as tf  # noqa: E402

ROUNDS = 3
ROUND_SECONDS = 1.5
WARM_UP_SECONDS = 1.5
TABLE = "table"


class Load:
    """The rows, an item's window over them, and the number of items in the table when it is sampled."""

    def __init__(self, row, window, window_rows, items, batch):
        self.row = row  # Makes a row of random numbers.
        self.window = window  # Takes the writer's history, and returns an item.
        self.window_rows = window_rows
        self.items = items
        self.batch = batch


def cartpole_row(random):
    return {
        "observation": random.standard_normal(4, np.float32),
        "action": np.int64(random.integers(2)),
        "reward": np.float32(1),
        "next_observation": random.standard_normal(4, np.float32),
        "done": np.int64(0),
    }


def bytes_row(size):
    # Random, because Reverb compresses its messages.
    return lambda random: {"data": random.integers(0, 256, size, np.uint8)}


def pong_row(random):
    # A nearly empty screen, like Pong's, which compresses about as well.
    frames = np.full((84, 84, 4), 87, np.uint8)
    for i in range(4):
        ball, left, right = random.integers(0, 78, 3)
        frames[ball : ball + 2, 40 + i, i] = 236
        frames[left : left + 8, 9, i] = 213
        frames[right : right + 8, 75, i] = 92
    return {"observation": frames, "action": np.int64(random.integers(6)), "reward": np.float32(0),
            "discount": np.float32(0.99)}


def last_row(history):
    return {name: column[-1] for name, column in history.items()}


def three_steps(history):
    return {"observation": history["observation"][-4], "action": history["action"][-4],
            "reward": history["reward"][-4:], "discount": history["discount"][-4:],
            "next_observation": history["observation"][-1]}


LOADS = {
    "cartpole": Load(cartpole_row, last_row, 1, 50_000, 512),
    "4kB": Load(bytes_row(4_000), last_row, 1, 50_000, 512),
    "40kB": Load(bytes_row(40_000), last_row, 1, 10_000, 256),
    "frames": Load(pong_row, three_steps, 4, 5_000, 32),
}


def signature(load):
    row = load.row(np.random.default_rng(0))
    stacked = {name: np.stack([value] * load.window_rows) for name, value in row.items()}
    return {name: tf.TensorSpec(value.shape, value.dtype) for name, value in load.window(stacked).items()}


def serve(load, max_items):
    """The server's process: prints its port, and serves until its input ends."""
    server = reverb.Server([
        reverb.Table(TABLE, sampler=reverb.selectors.Prioritized(0.6), remover=reverb.selectors.Fifo(),
                     max_size=max_items, rate_limiter=reverb.rate_limiters.MinSize(1), signature=signature(load))
    ], port=None)
    print(server.port, flush=True)
    sys.stdin.read()
    server.stop()


def write(client, load, tell, limit=math.inf):
    """Inserts items, `limit` of them or without end, and counts those sent."""
    random = np.random.default_rng(os.getpid())
    rows = [load.row(random) for _ in range(64)]
    with client.trajectory_writer(num_keep_alive_refs=max(load.window_rows, 16)) as writer:
        count = 0
        step = 0
        while count < limit:
            for row in rows:
                writer.append(row)
                step += 1
                if step >= load.window_rows:
                    writer.create_item(TABLE, 0.1 + step * 37 % 101 / 101, load.window(writer.history))
                    count += 1
            writer.flush(block_until_num_items=100)
            tell(count)
        writer.flush()


def sample(address, load, tell, update):
    client = reverb.Client(address)
    dataset = reverb.TrajectoryDataset.from_table_signature(
        address, TABLE, max_in_flight_samples_per_worker=2 * load.batch, num_workers_per_iterator=1)
    count = 0
    for batch in dataset.batch(load.batch, drop_remainder=True).prefetch(2):
        count += load.batch
        if update:
            client.mutate_priorities(TABLE, {key: 0.5 for key in batch.info.key.numpy().tolist()})
        tell(count)


def update_only(client, tell):
    items = client.sample(TABLE, num_samples=64 * 512, emit_timesteps=False)
    keys = [int(item.info.key) for item in items]
    batches = [{key: 0.5 for key in keys[i : i + 512]} for i in range(0, len(keys), 512)]
    count = 0
    while True:
        client.mutate_priorities(TABLE, batches[count // 512 % len(batches)])
        count += 512
        tell(count)


def work(role, load_name, address, counter_path, limit):
    """A client's process: keeps its count in a shared file."""
    load = LOADS[load_name]
    with open(counter_path, "r+b") as file:
        counter = mmap.mmap(file.fileno(), 8)

    def tell(count):
        counter[:] = count.to_bytes(8, "little")

    client = reverb.Client(address)
    if role == "write":
        write(client, load, tell, limit or math.inf)
    elif role == "update":
        update_only(client, tell)
    else:
        sample(address, load, tell, update=role == "sample_update")


class Server:
    """A server with a table of that many items, and its clients."""

    def __init__(self, load, items):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", load, str(items)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = f"127.0.0.1:{int(self.process.stdout.readline())}"
        self.clients = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process, _ in self.clients:
            process.kill()
            process.wait()
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def start(self, role, load, limit=0):
        path = pathlib.Path(self.folder.name) / f"count{len(self.clients)}"
        path.write_bytes(bytes(8))
        command = [sys.executable, __file__, "--work", role, load, self.address, str(path), str(limit)]
        with open(pathlib.Path(self.folder.name) / "log", "ab") as log:
            process = subprocess.Popen(command, stderr=log)
        self.clients.append((process, path))
        return process

    def fill(self, load, items):
        # Two at a time is the fastest here.
        for process in [self.start("write", load, items // 2) for _ in range(2)]:
            if process.wait() != 0:
                self.fail()
        self.clients.clear()

    def fail(self):
        log = (pathlib.Path(self.folder.name) / "log").read_text(errors="replace")
        raise SystemExit(f"a client of Reverb failed:\n{log[-2000:]}")

    def resident_bytes(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def counts(self):
        return [int.from_bytes(path.read_bytes(), "little") for _, path in self.clients]

    def rates(self):
        """Each client's rate per second: the middle one of the rounds."""
        while not all(self.counts()):
            if any(process.poll() is not None for process, _ in self.clients):
                self.fail()
            time.sleep(0.05)
        time.sleep(WARM_UP_SECONDS)
        rounds = []
        for _ in range(ROUNDS):
            before, begin = self.counts(), time.monotonic()
            time.sleep(ROUND_SECONDS)
            after, end = self.counts(), time.monotonic()
            rounds.append([(b - a) / (end - begin) for a, b in zip(before, after)])
        return [statistics.median(client) for client in zip(*rounds)]


def measure(load, roles):
    with Server(load, LOADS[load].items) as server:
        if any(role != "write" for role in roles):
            server.fill(load, LOADS[load].items)
        for role in roles:
            server.start(role, load)
        return server.rates()


def memory(items=1_000_000):
    with Server("cartpole", items) as server:
        server.fill("cartpole", 128)  # Then only items are counted.
        before = server.resident_bytes()
        server.fill("cartpole", items)
        return (server.resident_bytes() - before) / items


# Waggle's case, the work of Reverb's clients, and the clients that count.
RATES = [
    ("insert_cartpole_1p", "cartpole", ["write"]),
    ("insert_cartpole_2p", "cartpole", ["write", "write"]),
    ("insert_4kB_1p", "4kB", ["write"]),
    ("insert_40kB_1p", "40kB", ["write"]),
    ("insert_frames_1p", "frames", ["write"]),
    ("sample_cartpole_1c", "cartpole", ["sample"]),
    ("sample_cartpole_2c", "cartpole", ["sample", "sample"]),
    ("sample_4kB_1c", "4kB", ["sample"]),
    ("sample_40kB_1c", "40kB", ["sample"]),
    ("sample_frames_1c", "frames", ["sample"]),
    ("sample_frames_lz4_1c", "frames", ["sample"]),  # Reverb always compresses.
    ("sample_update_cartpole_1c", "cartpole", ["sample_update"]),
    ("update_512", "cartpole", ["update"]),
    ("update_512_streamed", "cartpole", ["update"]),  # Waggle does not wait for each call; Reverb always does.
]
MIXED = ("mixed_cartpole", "cartpole", ["sample_update", "write", "write"])


def compare(part):
    for case, load, roles in RATES:
        if part in case:
            ours = peer.waggle("replay_service_bench", f"replay_service/{case}")
            peer.report(case, "items/s", ours, "reverb", sum(measure(load, roles)))
    case, load, roles = MIXED
    if part in case:
        rates = measure(load, roles)
        for direction, theirs in (("sample", rates[0]), ("insert", sum(rates[1:]))):
            ours = peer.waggle("replay_service_bench", f"replay_service/{case}/{direction}")
            peer.report(f"{case}/{direction}", "items/s", ours, "reverb", theirs)
    if part in "memory_cartpole":
        ours = peer.waggle("replay_service_bench", "replay_service/memory_cartpole")
        peer.report("memory_cartpole", "bytes/item", ours, "reverb", memory(), less_is_better=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(LOADS[sys.argv[2]], int(sys.argv[3]))
    elif sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:6], int(sys.argv[6]))
    else:
        compare(sys.argv[1] if len(sys.argv) > 1 else "")
