#!/usr/bin/env python3
"""EnvPool's CartPole-v1 beside Waggle's in C++: steps a second of one thread with 64 lanes.

usage: tests/bench/peers/envpool.py

Build the benchmarks first (./dev build). Installs envpool into build/peers/envpool. EnvPool is called from Python, as its
users call it; Waggle's lanes are stepped by an actor, which is C++.
"""

import sys
import time

import peer

peer.enter_environment("envpool", ["envpool==1.2.5"])

sys.path.pop(0)  # This file's own folder: it would be imported as "envpool".
import envpool  # noqa: E402
import numpy as np  # noqa: E402

LANES = 64
ROUNDS = 5
CALLS = 5000


def steps_per_second():
    environments = envpool.make_gymnasium("CartPole-v1", num_envs=LANES, num_threads=1)
    environments.reset()
    actions = np.random.default_rng(1).integers(0, 2, (CALLS, LANES)).astype(np.int32)
    rates = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for chosen in actions:
            environments.step(chosen)
        rates.append(CALLS * LANES / (time.perf_counter() - begin))
    return sorted(rates)[ROUNDS // 2]


def main():
    ours = peer.waggle("actor_bench", "environment/cartpole_64_lanes")
    peer.report("environment/cartpole_64_lanes", "env_steps/s", ours, "envpool", steps_per_second())


main()
