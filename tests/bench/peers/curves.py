#!/usr/bin/env python3
"""Learning curves of docs/benchmarks.md: LunarLander and HalfCheetah for a fixed time, beside Stable-Baselines3's.

usage: tests/bench/peers/curves.py [EXPERIMENT ...]

EXPERIMENT is a name such as half_cheetah_sac; without one, each that has no file in docs/curves/data. It and its peer train at
the same time, on a core each.
Build first (./dev build). Installs Stable-Baselines3, sb3-contrib and MuJoCo into build/peers/stable_baselines3_learning.
Writes docs/curves/data/RUN.csv (seconds, environment steps and mean greedy return of each evaluation), then draws
docs/curves/benchmark_*.png and writes docs/benchmarks.md from all files there. The page's table of targets is made of
docs/curves/data/to_target.jsonl, which is what stable_baselines3_learning.py prints.

An experiment and its peer have the same environment, seed 1, a core each and 1200 seconds (LunarLander: 600). Waggle has its
shipped experiment. The peer has the settings that RL Baselines3 Zoo found for the environment, and one thread; its evaluations
do not count as time, and Waggle's do, as they run beside the training.
"""

import csv
import json
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import time

import peer

peer.enter_environment(
    "stable_baselines3_learning",
    ["stable-baselines3==2.9.2", "sb3-contrib==2.9.2", "gymnasium[box2d,mujoco]==1.4.0", "matplotlib==3.11.2"],
)

sys.path.pop(0)  # This file's own folder.
import matplotlib  # noqa: E402
import numpy  # noqa: E402
import sb3_contrib  # noqa: E402
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.noise import NormalActionNoise  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

DATA = peer.ROOT / "docs" / "curves" / "data"
PAGE = peer.ROOT / "docs" / "benchmarks.md"
SEED = 1
LUNAR, CHEETAH = "LunarLander-v3", "HalfCheetah-v5"
SECONDS = {LUNAR: 600, CHEETAH: 1200}
EPISODES = {LUNAR: 20, CHEETAH: 10}
# Seconds of training between two evaluations of a peer: those of Waggle's experiments.
PERIOD = {LUNAR: 15, CHEETAH: 60}

TEXT = """\
# Beside Stable-Baselines3

Both sides of a comparison ran on the same machine, without an accelerator. Waggle has its shipped experiments. The peers are
the same algorithms of Stable-Baselines3 2.9.2 and sb3-contrib 2.9.2 with PyTorch 2.15, one thread, and the settings that RL
Baselines3 Zoo found for the environment; Ape-X is beside DQN.

## To a target

Waggle's actor, learner and other processes share two cores; a peer has them to itself. A run ends when 20 greedy episodes
reach the target twice with the same weights. Steps and seconds are means of three seeds. A peer's seconds are those of
training alone. Waggle's begin with the first environment step and include the evaluations, which run beside the training;
the start of its processes does not count.

{targets}

    tests/bench/peers/stable_baselines3_learning.py > docs/curves/data/to_target.jsonl

makes these runs.

## Learning curves on LunarLander and HalfCheetah

Each run has one seed, one core and a fixed time: 600 seconds of LunarLander-v3, 1,200 seconds of HalfCheetah-v5. All of
Waggle's processes share that core, although they would use several. Stable-Baselines3 and sb3-contrib have no Rainbow and no
MPO. A return is the mean of 20 greedy episodes (HalfCheetah: 10); "last" is the mean of the last three evaluations. Waggle's
time includes its evaluations; the peers' does not.

One seed shows that an algorithm learns the task, and roughly how fast. It does not rank algorithms.

    tests/bench/peers/curves.py

trains those that have no file in `docs/curves/data`, then draws the pictures and writes this page. Solid lines are Waggle's,
dashed lines of the same colour the peer's.

{table}

{pictures}
"""

# More steps than a run takes. Exploration falls over a share of 100,000 steps in RL Baselines3 Zoo.
MANY = 100_000_000
LARGE = {"policy_kwargs": {"net_arch": [256, 256]}}
DQN = {"learning_rate": 6.3e-4, "batch_size": 128, "buffer_size": 50_000, "learning_starts": 0, "gamma": 0.99,
       "target_update_interval": 250, "train_freq": 4, "gradient_steps": -1, "exploration_fraction": 0.12 * 100_000 / MANY,
       "exploration_final_eps": 0.1, **LARGE}
QR_DQN = {"learning_rate": 1.5e-3, "batch_size": 128, "buffer_size": 100_000, "learning_starts": 10_000, "gamma": 0.995,
          "target_update_interval": 1, "train_freq": 256, "gradient_steps": -1, "exploration_fraction": 0.24 * 100_000 / MANY,
          "exploration_final_eps": 0.18, "policy_kwargs": {"net_arch": [256, 256], "n_quantiles": 170}}
PPO = {"n_steps": 1024, "batch_size": 64, "gae_lambda": 0.98, "gamma": 0.999, "n_epochs": 4, "ent_coef": 0.01}
OFF_POLICY = {"learning_starts": 10_000}
# By experiment: the environment, and the peer with its options and number of environments.
RUNS = {
    "lunar_lander_rainbow": (LUNAR, None, {}, 1),
    "lunar_lander_qr_dqn": (LUNAR, sb3_contrib.QRDQN, QR_DQN, 1),
    "lunar_lander_ppo": (LUNAR, stable_baselines3.PPO, PPO, 16),
    "lunar_lander_apex_dqn": (LUNAR, stable_baselines3.DQN, DQN, 1),
    "half_cheetah_sac": (CHEETAH, stable_baselines3.SAC, OFF_POLICY, 1),
    "half_cheetah_td3": (CHEETAH, stable_baselines3.TD3,
                         {**OFF_POLICY, "action_noise": NormalActionNoise(numpy.zeros(6), numpy.full(6, 0.1))}, 1),
    "half_cheetah_tqc": (CHEETAH, sb3_contrib.TQC, OFF_POLICY, 1),
    "half_cheetah_crossq": (CHEETAH, sb3_contrib.CrossQ, OFF_POLICY, 1),
    "half_cheetah_mpo": (CHEETAH, None, {}, 1),
}


def train_peer(name):
    environment, algorithm, options, lanes = RUNS[name]
    torch.set_num_threads(1)
    evaluated = make_vec_env(environment, 1, 1000 + SEED)
    model = algorithm("MlpPolicy", make_vec_env(environment, lanes, SEED), seed=SEED, device="cpu", **options)
    points = []
    clock = {"evaluating": 0.0, "next": 0.0}
    begin = time.perf_counter()

    def goes_on(*_):
        stopped = time.perf_counter()
        seconds = stopped - begin - clock["evaluating"]
        if seconds >= clock["next"]:
            clock["next"] += PERIOD[environment]
            mean = evaluate_policy(model, evaluated, n_eval_episodes=EPISODES[environment], deterministic=True)[0]
            points.append((round(seconds, 1), model.num_timesteps, round(float(mean), 1)))
            clock["evaluating"] += time.perf_counter() - stopped
        return seconds < SECONDS[environment]

    model.learn(MANY, callback=goes_on)  # Until the time is over.
    return points


def train_waggle(name):
    environment = RUNS[name][0]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "out"
        settings = [f"environment.python={sys.executable}", "stop.target_return=null", "stop.max_env_steps=0", f"stop.max_seconds={SECONDS[environment]}",
                    f"evaluation.episodes={EPISODES[environment]}",
                    f"evaluation.period_seconds={PERIOD[environment]}"]
        peer.run_experiment(name, SEED, output, settings)
        with open(output / "metrics.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    # The rows of one evaluation have the same time.
    steps = {row["seconds"]: row["value"] for row in rows if row["name"] == "evaluation/env_steps"}
    return [(float(row["seconds"]), int(float(steps[row["seconds"]])), round(float(row["value"]), 1))
            for row in rows if row["name"] == "evaluation/mean_return"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return [(float(row["seconds"]), int(row["env_steps"]), float(row["mean_return"])) for row in csv.DictReader(file)]


def label(run):
    name = re.sub("^(lunar_lander|half_cheetah)_", "", run.removesuffix("-peer"))
    if not run.endswith("-peer"):
        return name
    algorithm = RUNS[run.removesuffix("-peer")][1]
    return f"{algorithm.__name__} of {algorithm.__module__.split('.')[0].replace('_', '-')}"


def picture(name):
    """The part of an experiment's name that says the environment."""
    return "_".join(name.split("_")[:2])


def draw(runs):
    for environment, name in ((LUNAR, "lunar_lander"), (CHEETAH, "half_cheetah")):
        shown = [run for run in runs if run.startswith(name)]
        if not shown:
            continue
        figure, axes = pyplot.subplots(1, 2, figsize=(12, 4.5), sharey=True)
        colors = {run: f"C{i}" for i, run in enumerate(r for r in RUNS if r.startswith(name))}
        for run in shown:
            seconds, steps, means = zip(*runs[run])
            style = {"color": colors[run.removesuffix("-peer")], "linestyle": "--" if run.endswith("-peer") else "-"}
            axes[0].plot(seconds, means, **style)
            begun = [(step, mean) for step, mean in zip(steps, means) if step >= 1000]
            axes[1].plot(*zip(*begun), label=label(run), **style)
        axes[0].set(xlabel="seconds", ylabel="mean greedy return", title=environment)
        axes[1].set(xlabel="environment steps", xscale="log")
        axes[1].legend(loc="upper left", fontsize="small")  # Where returns are still low.
        figure.tight_layout()
        figure.savefig(DATA.parent / f"benchmark_{name}.png", dpi=90)


def targets():
    """The lines of the table of targets."""
    lines = ["| experiment | environment steps | seconds | peer | environment steps | seconds |", "|---|---|---|---|---|---|"]
    with open(DATA / "to_target.jsonl", encoding="utf-8") as file:
        runs = [json.loads(line) for line in file]
    for name in dict.fromkeys(run["task"] for run in runs):
        seeds = [run for run in runs if run["task"] == name]
        peer_name = next(key for key in seeds[0] if key not in ("task", "seed", "waggle"))

        def cells(side):
            steps = numpy.mean([run[side]["env_steps"] for run in seeds])
            missed = sum(not run[side]["solved"] for run in seeds)
            seconds = numpy.mean([run[side]["seconds"] for run in seeds])
            return f"{steps:,.0f}{f', {missed} of {len(seeds)} missed' if missed else ''} | {seconds:.{1 if seconds < 10 else 0}f}"

        lines.append(f"| [{name}](../configs/{name}.yaml) | {cells('waggle')} | {peer_name} | {cells(peer_name)} |")
    return lines


def write_page(runs):
    lines = ["| experiment | environment steps | last return | best return | peer | environment steps | last return | best return |",
             "|---|---|---|---|---|---|---|---|"]

    def cells(run):
        if run not in runs:
            return "- | - | -"
        points = runs[run]
        last = numpy.mean([mean for _, _, mean in points[-3:]])
        return f"{points[-1][1]:,} | {last:,.0f} | {max(mean for _, _, mean in points):,.0f}"

    for name in RUNS:
        theirs = f"{name}-peer"
        if name not in runs:
            continue
        who = "none" if RUNS[name][1] is None else label(theirs)
        lines.append(f"| [{name}](../configs/{name}.yaml) | {cells(name)} | {who} | {cells(theirs)} |")
    shown = {RUNS[name][0]: f"![{RUNS[name][0]}](curves/benchmark_{picture(name)}.png)" for name in RUNS if name in runs}
    text = TEXT.replace("{table}", "\n".join(lines)).replace("{targets}", "\n".join(targets()))
    PAGE.write_text(text.replace("{pictures}", "\n\n".join(shown.values())), encoding="utf-8")


def record(run, core):
    """Trains the run on the core, and writes its file."""
    os.sched_setaffinity(0, {core})
    points = train_peer(run.removesuffix("-peer")) if run.endswith("-peer") else train_waggle(run)
    with open(DATA / f"{run}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seconds", "env_steps", "mean_return"])
        writer.writerows(points)


def main():
    if unknown := [name for name in sys.argv[1:] if name not in RUNS]:
        sys.exit(f"EXPERIMENT: got {unknown[0]}; wanted one of {', '.join(RUNS)}")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("an experiment and its peer want a core each: this machine has one")
    DATA.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or [name for name in RUNS if not (DATA / f"{name}.csv").exists()]:
        print(name, flush=True)
        sides = [name] if RUNS[name][1] is None else [name, f"{name}-peer"]
        processes = [multiprocessing.Process(target=record, args=side) for side in zip(sides, cores)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        if any(process.exitcode != 0 for process in processes):
            sys.exit(f"{name}: a run failed")
    known = [run for name in RUNS for run in (name, f"{name}-peer")]
    runs = {run: read(DATA / f"{run}.csv") for run in known if (DATA / f"{run}.csv").exists()}
    draw(runs)
    write_page(runs)


if __name__ == "__main__":
    main()
