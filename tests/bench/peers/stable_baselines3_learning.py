#!/usr/bin/env python3
"""Stable-Baselines3's SAC learns HalfCheetah-v5, with the settings of configs/half_cheetah_sac.yaml.

usage: tests/bench/peers/stable_baselines3_learning.py [STEPS [SEED]]

Installs stable-baselines3 and MuJoCo into build/peers/stable_baselines3_learning, some gigabytes. Prints one JSON line for each
evaluation, every 10,000 steps: the steps, the mean return of ten greedy episodes, and the seconds without evaluations.
"""

import json
import sys
import time

import peer

peer.enter_environment("stable_baselines3_learning", ["stable-baselines3==2.9.2", "gymnasium[mujoco]==1.4.0"])

sys.path.pop(0)  # This file's own folder.
import gymnasium  # noqa: E402
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402

PERIOD = 10_000


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    torch.set_num_threads(1)
    # Its other defaults are the configuration's: 256-256, batches of 256, 3e-4, 0.005, 0.99, one update a step.
    model = stable_baselines3.SAC(
        "MlpPolicy", gymnasium.make("HalfCheetah-v5"), learning_starts=10_000, device="cpu", seed=seed
    )
    evaluated = Monitor(gymnasium.make("HalfCheetah-v5"))
    seconds = 0.0
    for done in range(PERIOD, steps + 1, PERIOD):
        begin = time.perf_counter()
        model.learn(PERIOD, reset_num_timesteps=False)
        seconds += time.perf_counter() - begin
        mean, _ = evaluate_policy(model, evaluated, n_eval_episodes=10, deterministic=True)
        print(json.dumps({"steps": done, "mean_return": float(mean), "seconds": round(seconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
