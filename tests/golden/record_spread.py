#!/usr/bin/env python3
"""Records trajectories of mpe2's simple_spread_v3 that Spread-v0 is compared with.

    python3 -m venv venv && venv/bin/pip install mpe2
    venv/bin/python tests/golden/record_spread.py > tests/golden/spread_v0.txt

With a number it records so many episodes of random actions instead:

    venv/bin/python tests/golden/record_spread.py 100 > more/spread_v0.txt
    WAGGLE_MORE_TRAJECTORIES=more build/release/bin/environments_test "*mpe2*"

A trajectory is a line "trajectory NAME STEPS AGENTS LOCAL_RATIO"; a line with the start (float64, all digits): the
positions of all agents, then their velocities, then the positions of the landmarks; and a line a step: all agents'
actions, their rewards and TRUNCATED, and all agents' observations without the communication (float32, all digits).
"""

import sys

import mpe2
import numpy
from mpe2 import simple_spread_v3

EPISODE_STEPS = 25


def towards(target, own):
    """The action that goes to a point in the direction that is further."""
    x, y = target - own
    if max(abs(x), abs(y)) < 0.02:
        return 0
    if abs(x) > abs(y):
        return 2 if x > 0 else 1
    return 4 if y > 0 else 3


def to_landmarks(world, generator):
    return [towards(world.landmarks[i].state.p_pos, agent.state.p_pos) for i, agent in enumerate(world.agents)]


def to_each_other(world, generator):
    middle = numpy.mean([agent.state.p_pos for agent in world.agents], axis=0)
    return [towards(middle, agent.state.p_pos) for agent in world.agents]


def at_random(world, generator):
    return [int(generator.integers(5)) for _ in world.agents]


def numbers(values, form):
    return " ".join(format(float(x), form) for x in values)


def record(name, agents, local_ratio, policy, seed):
    environment = simple_spread_v3.parallel_env(N=agents, local_ratio=local_ratio, max_cycles=EPISODE_STEPS)
    environment.reset(seed=seed)
    world = environment.unwrapped.world
    generator = numpy.random.default_rng(seed)
    start = [agent.state.p_pos for agent in world.agents]
    start += [agent.state.p_vel for agent in world.agents]
    start += [landmark.state.p_pos for landmark in world.landmarks]
    print(f"trajectory {name} {EPISODE_STEPS} {agents} {local_ratio}")
    print(numbers(numpy.concatenate(start), ".17g"))
    names = environment.possible_agents
    for _ in range(EPISODE_STEPS):
        actions = policy(world, generator)
        observations, rewards, terminations, truncations, _ = environment.step(dict(zip(names, actions)))
        assert not any(terminations.values())
        shown = numpy.concatenate([observations[agent][: 4 * agents + 2] for agent in names])
        print(
            *actions,
            numbers([rewards[agent] for agent in names], ".17g"),
            int(truncations[names[0]]),
            numbers(shown, ".9g"),
        )


def main():
    print(f"# mpe2 {mpe2.__version__}, by tests/golden/record_spread.py")
    if len(sys.argv) > 1:
        for seed in range(int(sys.argv[1])):
            record(f"random_{seed}", 2 + seed % 3, 0.5, at_random, seed)
        return
    record("one_alone", 1, 0.5, to_landmarks, 1)
    record("two_to_landmarks", 2, 0.5, to_landmarks, 2)
    record("two_collide", 2, 0.5, to_each_other, 3)
    record("two_for_themselves", 2, 1.0, to_each_other, 4)
    record("two_at_random", 2, 0.0, at_random, 5)
    record("three_collide", 3, 0.25, to_each_other, 6)
    record("five_to_landmarks", 5, 0.5, to_landmarks, 7)


main()
