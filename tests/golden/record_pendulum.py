#!/usr/bin/env python3
"""Records trajectories of Gymnasium's Pendulum-v1 that the C++ one is compared with.

    python3 -m venv venv && venv/bin/pip install gymnasium
    venv/bin/python tests/golden/record_pendulum.py > tests/golden/pendulum_v1.txt

A trajectory is a line "trajectory NAME STEPS", a line with the start state (angle and speed, float64, all digits), and a
line a step: ACTION REWARD TRUNCATED and the observation (float32, all digits).
"""

import gymnasium
import numpy


def always(torque):
    return lambda t, observation: torque


def random_torques(seed):
    generator = numpy.random.default_rng(seed)
    return lambda t, observation: generator.uniform(-2, 2)


def swing_up(t, observation):
    """Brings the energy to that of the upright rest, and holds the pendulum there."""
    cosine, sine, speed = (float(x) for x in observation)
    if cosine > 0.95:
        return -12 * sine - 3 * speed
    missing = 15 * (1 - cosine) - speed**2 / 2
    return missing * (speed if speed != 0 else 1)


def rollout(policy, seed, start=None):
    environment = gymnasium.make("Pendulum-v1")
    observation, _ = environment.reset(seed=seed)
    if start is not None:
        environment.unwrapped.state = numpy.array(start, dtype=numpy.float64)
        theta, speed = start
        observation = numpy.array([numpy.cos(theta), numpy.sin(theta), speed], dtype=numpy.float32)
    first = [float(x) for x in environment.unwrapped.state]
    steps = []
    while True:
        action = numpy.clip(numpy.array([policy(len(steps), observation)], dtype=numpy.float32), -2, 2)
        observation, reward, terminated, truncated, _ = environment.step(action)
        assert not terminated
        steps.append((action, reward, truncated, observation))
        if truncated:
            return first, steps


def write(name, trajectory):
    first, steps = trajectory
    print(f"trajectory {name} {len(steps)}")
    print(" ".join(f"{x:.17g}" for x in first))
    for action, reward, truncated, observation in steps:
        numbers = " ".join(f"{float(x):.9g}" for x in observation)
        print(f"{float(action[0]):.9g} {float(reward):.17g} {int(truncated)} {numbers}")


def main():
    print(f"# Gymnasium {gymnasium.__version__}, by tests/golden/record_pendulum.py")
    for torque in (-2, 0, 2):
        write(f"always_{torque}", rollout(always(torque), seed=3 + torque))
    for seed in (6, 7):
        write(f"random_{seed}", rollout(random_torques(seed), seed))
    write("swing_up", rollout(swing_up, 8, start=[numpy.pi, 0.0]))
    write("many_turns_forwards", rollout(always(2), 9, start=[3.0, 8.0]))
    write("many_turns_backwards", rollout(always(-2), 9, start=[-3.0, -8.0]))


main()
