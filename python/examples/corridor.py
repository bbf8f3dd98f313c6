#!/usr/bin/env python3
"""Prioritised three-step Q-learning in a corridor, with its experience in a replay server.

usage: corridor.py HOST:PORT

An agent walks along twelve cells and is rewarded at the far end. One thread acts and one learns. They share only the
table of values, and could as well be processes on different machines.
"""

import sys
import threading

import numpy as np

import waggle_client as waggle

CELLS, STEPS, DISCOUNT = 12, 3, 0.95
LEFT, RIGHT = 0, 1

TABLE = waggle.Table(
    "corridor",
    columns={
        "cell": waggle.Column("int64"),
        "action": waggle.Column("int64"),
        "reward": waggle.Column("float32"),
        "discount": waggle.Column("float32"),  # 0 in an episode's last row.
    },
    view={
        "cell": waggle.first("cell"),
        "action": waggle.first("action"),
        "rewards": waggle.all_rows("reward"),
        "discounts": waggle.all_rows("discount"),
        "last_cell": waggle.last("cell"),
    },
    sampler=waggle.prioritized(exponent=0.6),
    max_items=10_000,
    max_window=STEPS + 1,
    rate_limiter=waggle.RateLimiter(min_items=100),
)


def act(client, values, solved):
    """Acts with some randomness until `solved` is set. A row is a cell, the action there, its reward and discount."""
    random = np.random.default_rng(1)
    with client.writer("corridor", timeout=60) as writer:
        while not solved.is_set():
            cell, rows = 0, 0
            while True:
                explore = random.random() < 0.3 or values[cell, LEFT] == values[cell, RIGHT]
                action = int(random.integers(2) if explore else values[cell].argmax())
                after = max(0, cell + (1 if action == RIGHT else -1))
                ended = after == CELLS - 1
                writer.append(
                    {"cell": cell, "action": action, "reward": float(ended), "discount": 0.0 if ended else DISCOUNT}
                )
                rows += 1
                if rows > STEPS:
                    writer.create_item("corridor", rows=STEPS + 1)
                if ended:
                    break
                cell = after
            # Shorter windows for the last steps, which end with the episode.
            for length in range(min(rows, STEPS), 0, -1):
                writer.create_item("corridor", rows=length)


def learn(client, values, solved):
    """Learns from batches, and sends back the size of each item's error as its priority."""
    with client.sampler("corridor", batch_size=64, timeout=60) as sampler:
        for updates, batch in enumerate(sampler, start=1):
            # The return continues from the window's last row, unless the episode ended in it.
            rows = np.arange(STEPS + 1)
            ended = batch["discounts"][np.arange(len(batch)), batch.lengths - 1] == 0
            used = rows < np.where(ended, batch.lengths, batch.lengths - 1)[:, None]
            discount = np.cumprod(np.where(used, batch["discounts"], 1.0), axis=1)
            before = np.concatenate([np.ones((len(batch), 1)), discount[:, :-1]], axis=1)
            returns = (used * before * batch["rewards"]).sum(1)
            target = returns + discount[:, -1] * values[batch["last_cell"]].max(1)
            error = target - values[batch["cell"], batch["action"]]
            np.add.at(values, (batch["cell"], batch["action"]), 0.1 * batch.importance_weights(beta=0.4) * error)
            counts = client.update_priorities("corridor", batch.keys, batch.generations, np.abs(error) + 1e-3)
            if updates % 500 == 0:
                print(
                    f"{updates} updates: value of the first cell {values[0].max():.3f}; of the last priorities "
                    f"{counts.applied} were applied, {counts.stale + counts.unknown} came too late"
                )
            if (values[:-1].argmax(1) == RIGHT).all() and values[0].max() > 0.5 or updates == 20_000:
                solved.set()
                return


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    values = np.zeros((CELLS, 2))
    solved = threading.Event()
    with waggle.Client(sys.argv[1]) as client:
        client.create_table(TABLE)
        actor = threading.Thread(target=act, args=(client, values, solved))
        actor.start()
        try:
            learn(client, values, solved)
        finally:
            solved.set()
            actor.join()
        table = client.table("corridor")
        print(f"{table.items_inserted} items were inserted, {table.items_sampled} sampled")
    path = "".join("<>"[action] for action in values[:-1].argmax(1))
    print(f"what to do in each cell: {path}")
    return 0 if set(path) == {">"} else 1


if __name__ == "__main__":
    sys.exit(main())
