#!/usr/bin/env python3
"""Records trajectories of Gymnasium's CartPole-v1 that the C++ one is compared with.

    python3 -m venv venv && venv/bin/pip install gymnasium
    venv/bin/python tests/golden/record_cartpole.py > tests/golden/cartpole_v1.txt

A trajectory is a line "trajectory NAME STEPS", a line with the start state (float64, all digits), and a line a step:
ACTION REWARD TERMINATED TRUNCATED and the observation (float32, all digits).
"""

import gymnasium
import numpy


def always(action):
    return lambda t, observation: action


def alternate(t, observation):
    return t % 2


def random_actions(seed):
    generator = numpy.random.default_rng(seed)
    return lambda t, observation: int(generator.integers(2))


def balance(t, observation):
    return int(observation @ numpy.array([0.05, 0.2, 1.0, 0.4]) > 0)


def balance_until(last):
    """Balances, then pushes to the right until the pole falls."""
    return lambda t, observation: balance(t, observation) if t < last else 1


def rollout(policy, seed, start=None):
    environment = gymnasium.make("CartPole-v1")
    observation, _ = environment.reset(seed=seed)
    if start is not None:
        environment.unwrapped.state = numpy.array(start, dtype=numpy.float64)
        observation = environment.unwrapped.state.astype(numpy.float32)
    first = [float(x) for x in environment.unwrapped.state]
    steps = []
    while True:
        action = policy(len(steps), observation)
        observation, reward, terminated, truncated, _ = environment.step(action)
        steps.append((action, reward, terminated, truncated, observation))
        if terminated or truncated:
            return first, steps


def write(name, trajectory):
    first, steps = trajectory
    print(f"trajectory {name} {len(steps)}")
    print(" ".join(f"{x:.17g}" for x in first))
    for action, reward, terminated, truncated, observation in steps:
        numbers = " ".join(f"{float(x):.9g}" for x in observation)
        print(f"{action} {reward:g} {int(terminated)} {int(truncated)} {numbers}")


def ends_both_ways():
    """The pole falls in exactly the 500th step."""
    for seed in range(100):
        for last in range(480, 500):
            trajectory = rollout(balance_until(last), seed)
            terminated, truncated = trajectory[1][-1][2:4]
            if terminated and truncated:
                return trajectory
    raise RuntimeError("no such trajectory")


def main():
    print(f"# Gymnasium {gymnasium.__version__}, by tests/golden/record_cartpole.py")
    for action in (0, 1):
        write(f"always_{action}", rollout(always(action), seed=action))
    write("alternate", rollout(alternate, seed=2))
    for seed in (3, 4, 5):
        write(f"random_{seed}", rollout(random_actions(seed), seed))
    write("leaves_to_the_left", rollout(alternate, 6, start=[-2.3, -1.5, 0.0, 0.0]))
    write("leaves_to_the_right", rollout(alternate, 6, start=[2.3, 1.5, 0.0, 0.0]))
    write("wild_start", rollout(balance, 6, start=[0.5, -2.0, 0.15, -3.0]))
    write("balance_truncated", rollout(balance, seed=7))
    write("terminated_in_the_last_step", ends_both_ways())


main()
