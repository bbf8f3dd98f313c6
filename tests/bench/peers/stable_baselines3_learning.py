#!/usr/bin/env python3
"""Algorithms of Stable-Baselines3 and sb3-contrib beside Waggle's: environment steps and seconds to a mean return.

usage: tests/bench/peers/stable_baselines3_learning.py [TASK [SEEDS]]

TASK is the name of an experiment of configs/, by default each that has a peer; SEEDS are 1, 2, 3 by default. Build first
(./dev build). Installs Stable-Baselines3 and sb3-contrib into build/peers/stable_baselines3_learning, some
gigabytes. Prints one JSON line for each run.

A run ends when 20 greedy episodes average the target twice with the same weights, or at the limit of environment steps.
Both sides have the same environment, target and limit. Waggle has its shipped experiment, and the peer the settings that RL
Baselines3 Zoo found for the environment, with one thread. Waggle's seconds begin with the first environment step, and include
its evaluations; the peer's are those of training alone.
"""

import json
import pathlib
import sys
import tempfile
import time

import peer

peer.enter_environment(
    "stable_baselines3_learning",
    ["stable-baselines3==2.9.2", "sb3-contrib==2.9.2", "gymnasium[box2d,mujoco]==1.4.0", "matplotlib==3.11.2"],
)

sys.path.pop(0)  # This file's own folder.
import gymnasium  # noqa: E402
import numpy  # noqa: E402
import sb3_contrib  # noqa: E402
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.noise import NormalActionNoise  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

EPISODES = 20


class HiddenVelocity(gymnasium.ObservationWrapper):
    """CartPole without its velocities."""

    def __init__(self, environment):
        super().__init__(environment)
        space = environment.observation_space
        self.observation_space = gymnasium.spaces.Box(space.low[[0, 2]], space.high[[0, 2]], dtype=space.dtype)

    def observation(self, observation):
        return observation[[0, 2]]


def linear(first):
    return lambda remaining: remaining * first


def small_noise():
    return NormalActionNoise(numpy.zeros(1), numpy.full(1, 0.1))


Q_LEARNING = {
    "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000, "gamma": 0.99,
    "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128, "exploration_fraction": 0.16,
    "exploration_final_eps": 0.04,
}
PPO = {
    "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20, "ent_coef": 0.0,
    "learning_rate": linear(1e-3), "clip_range": linear(0.2),
}
RECURRENT = {
    "ortho_init": False, "activation_fn": torch.nn.ReLU, "lstm_hidden_size": 64, "enable_critic_lstm": True,
    "net_arch": {"pi": [64], "vf": [64]},
}


class Task:
    """A peer of one of Waggle's experiments."""

    def __init__(self, algorithm, environment, target, steps, period, options, lanes=1, policy="MlpPolicy",
                 wrapper=None, normalize=False):
        self.algorithm, self.environment, self.target, self.steps = algorithm, environment, target, steps
        self.period, self.options, self.lanes, self.policy = period, options, lanes, policy
        self.wrapper, self.normalize = wrapper, normalize


CARTPOLE, PENDULUM = "CartPole-v1", "Pendulum-v1"
TASKS = {
    "cartpole_apex_dqn": Task(
        stable_baselines3.DQN, CARTPOLE, 475, 150_000, 1024, {**Q_LEARNING, "policy_kwargs": {"net_arch": [256, 256]}}),
    "cartpole_qr_dqn": Task(
        sb3_contrib.QRDQN, CARTPOLE, 475, 150_000, 1024,
        {**Q_LEARNING, "policy_kwargs": {"net_arch": [256, 256], "n_quantiles": 10}}),
    "cartpole_ppo": Task(stable_baselines3.PPO, CARTPOLE, 475, 150_000, 1024, PPO, lanes=8),
    "cartpole_trpo": Task(
        sb3_contrib.TRPO, CARTPOLE, 475, 150_000, 1024,
        {"n_steps": 512, "batch_size": 512, "cg_damping": 1e-3, "gae_lambda": 0.98, "gamma": 0.99, "learning_rate": 1e-3,
         "n_critic_updates": 20}, lanes=2),
    "cartpole_hidden_velocity_ppo_lstm": Task(
        sb3_contrib.RecurrentPPO, CARTPOLE, 400, 500_000, 2048, {**PPO, "policy_kwargs": RECURRENT}, lanes=8,
        policy="MlpLstmPolicy", wrapper=HiddenVelocity, normalize=True),
    "pendulum_td3": Task(
        stable_baselines3.TD3, PENDULUM, -200, 30_000, 500,
        {"gamma": 0.98, "buffer_size": 200_000, "learning_starts": 10_000, "action_noise": small_noise(),
         "gradient_steps": 1, "train_freq": 1, "learning_rate": 1e-3, "policy_kwargs": {"net_arch": [400, 300]}}),
    "pendulum_sac": Task(stable_baselines3.SAC, PENDULUM, -200, 20_000, 500, {"learning_rate": 1e-3}),
    "pendulum_tqc": Task(sb3_contrib.TQC, PENDULUM, -200, 20_000, 500, {"learning_rate": 1e-3}),
    "pendulum_crossq": Task(sb3_contrib.CrossQ, PENDULUM, -200, 20_000, 500, {}),
}


def environments(task, seed, training):
    made = make_vec_env(task.environment, task.lanes if training else 1, seed, wrapper_class=task.wrapper)
    return VecNormalize(made, training=training, norm_reward=training) if task.normalize else made


def train_peer(task, seed):
    """Environment steps, seconds and the mean return of the weights that reached the target twice, or of the last."""
    torch.set_num_threads(1)
    made, evaluated = environments(task, seed, True), environments(task, 1000 + seed, False)
    model = task.algorithm(task.policy, made, seed=seed, device="cpu", **task.options)
    # Schedules are those of a whole run, so it is not trained in parts: a callback evaluates, and its time is subtracted.
    progress = {"evaluating": 0.0, "next": task.period, "result": None}

    def mean():
        if task.normalize:
            evaluated.obs_rms = made.obs_rms
        return float(evaluate_policy(model, evaluated, n_eval_episodes=EPISODES, deterministic=True)[0])

    begin = time.perf_counter()

    def goes_on(*_):
        if model.num_timesteps < progress["next"]:
            return True
        progress["next"] += task.period
        stopped = time.perf_counter()
        returns = mean()
        reached = returns >= task.target and mean() >= task.target
        progress["evaluating"] += time.perf_counter() - stopped
        progress["result"] = (reached, model.num_timesteps, returns)
        return not reached

    model.learn(task.steps, callback=goes_on)
    reached, steps, returns = progress["result"]
    return {"solved": reached, "env_steps": steps, "mean_return": round(returns, 1),
            "seconds": round(time.perf_counter() - begin - progress["evaluating"], 1)}


def train_waggle(name, task, seed):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "out"
        peer.run_experiment(name, seed, output, [f"stop.max_env_steps={task.steps}", "stop.max_seconds=7200",
                                                 f"evaluation.confirm_episodes={EPISODES}"])
        summary = json.loads((output / "summary.json").read_text())
    result = summary["result"] or {"env_steps": task.steps, "mean_return": None}
    return {"solved": summary["outcome"] == "solved", "env_steps": result["env_steps"],
            "mean_return": result["mean_return"], "seconds": round(summary["wall_seconds"], 1)}


def main():
    names = [sys.argv[1]] if len(sys.argv) > 1 else list(TASKS)
    seeds = [int(seed) for seed in sys.argv[2:]] or [1, 2, 3]
    if unknown := [name for name in names if name not in TASKS]:
        sys.exit(f"TASK: got {unknown[0]}; wanted one of {', '.join(TASKS)}")
    for name in names:
        for seed in seeds:
            task = TASKS[name]
            print(json.dumps({"task": name, "seed": seed, "waggle": train_waggle(name, task, seed),
                              task.algorithm.__name__: train_peer(task, seed)}), flush=True)


if __name__ == "__main__":
    main()
