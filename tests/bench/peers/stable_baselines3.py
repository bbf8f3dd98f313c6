#!/usr/bin/env python3
"""Stable-Baselines3's SAC beside Waggle's, each in its own process: learner steps a second.

usage: tests/bench/peers/stable_baselines3.py [PART_OF_A_CASE_NAME]

Build the benchmarks first (./dev build). Installs stable-baselines3 with its PyTorch, some gigabytes, into
build/peers/stable_baselines3. Prints one JSON line per case: Waggle's figure (learner_bench), Stable-Baselines3's,
and their ratio; both are the middle one of several rounds of the same run.

Networks of 256-256 for Pendulum's spaces, batches of 256, one thread, the temperature learned, targets that follow every
step: the defaults of both. The first case is the update alone, over prepared batches. In the second both draw their
batches, Stable-Baselines3 from its replay buffer and Waggle's learner from a table; the latter also publishes weights.
"""

import itertools
import statistics
import sys
import time

import peer

peer.enter_environment("stable_baselines3", ["stable-baselines3==2.9.2"])

sys.path.pop(0)  # This file's own folder: it would be imported as "stable_baselines3".
import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3.common.logger import Logger  # noqa: E402

ITEMS = 16_000
BATCHES = 16
BATCH = 256
ROUNDS = 7
STEPS = 64  # A round.


def new_model():
    environment = gymnasium.make("Pendulum-v1")
    model = stable_baselines3.SAC("MlpPolicy", environment, batch_size=BATCH, buffer_size=ITEMS, device="cpu", seed=1)
    model.set_logger(Logger(folder=None, output_formats=[]))
    random = np.random.default_rng(1)
    for _ in range(ITEMS):
        model.replay_buffer.add(
            random.uniform(-1, 1, (1, 3)).astype(np.float32),
            random.uniform(-1, 1, (1, 3)).astype(np.float32),
            random.uniform(-1, 1, (1, 1)).astype(np.float32),
            random.uniform(-1, 1, 1).astype(np.float32),
            np.zeros(1, bool),
            [{}],
        )
    return model


def steps_per_second(model):
    model.train(gradient_steps=STEPS, batch_size=BATCH)
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        model.train(gradient_steps=STEPS, batch_size=BATCH)
        rounds.append(STEPS / (time.perf_counter() - begin))
    return statistics.median(rounds)


def updating():
    model = new_model()
    prepared = itertools.cycle([model.replay_buffer.sample(BATCH) for _ in range(BATCHES)])
    model.replay_buffer.sample = lambda *_, **__: next(prepared)
    return steps_per_second(model)


def training():
    return steps_per_second(new_model())


CASES = [
    ("sac_256_256_batch_256_cpu/update_beside_modules", updating),
    ("sac_256_256_batch_256_cpu/train_loop_table", training),
]


def main():
    torch.set_num_threads(1)
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    for case, measure in CASES:
        if part in case:
            ours = peer.waggle("learner_bench", f"learner/{case}")
            peer.report(case, "steps/s", ours, "stable-baselines3", measure())


main()
