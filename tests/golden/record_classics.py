#!/usr/bin/env python3
"""Records trajectories of Gymnasium's classic environments that the C++ ones are compared with.

    python3 -m venv venv && venv/bin/pip install gymnasium
    venv/bin/python tests/golden/record_classics.py CartPole-v1 > tests/golden/cartpole_v1.txt

With a number behind the name it records so many episodes of random actions instead:

    venv/bin/python tests/golden/record_classics.py CartPole-v1 100 > more/cartpole_v1.txt
    WAGGLE_MORE_TRAJECTORIES=more build/release/bin/environments_test "*Gymnasium*"

A trajectory is a line "trajectory NAME STEPS OPTIONS", where OPTIONS is `environment.options` as JSON without spaces, a
line with the start state (float64, all digits), and a line a step: ACTION REWARD TERMINATED TRUNCATED and the
observation (float32, all digits).
"""

import json
import sys

import gymnasium
import numpy

# The attributes of Gymnasium's environments that are options of ours.
ATTRIBUTES = {
    "Acrobot-v1": {"dynamics": "book_or_nips", "time_step": "dt"},
    "CartPole-v1": {
        "gravity": "gravity",
        "cart_mass": "masscart",
        "pole_mass": "masspole",
        "pole_half_length": "length",
        "force": "force_mag",
        "time_step": "tau",
        "sutton_barto_reward": "_sutton_barto_reward",
    },
    "MountainCar-v0": {"force": "force", "gravity": "gravity", "goal_speed": "goal_velocity"},
    "MountainCarContinuous-v0": {"power": "power", "goal_speed": "goal_velocity"},
    "Pendulum-v1": {"gravity": "g", "mass": "m", "length": "l", "max_torque": "max_torque", "time_step": "dt"},
}


def make(name, options):
    environment = gymnasium.make(
        name, max_episode_steps=options.get("max_episode_steps"), disable_env_checker=True
    )
    classic = environment.unwrapped
    for option, value in options.items():
        if option != "max_episode_steps":
            assert hasattr(classic, ATTRIBUTES[name][option])
            setattr(classic, ATTRIBUTES[name][option], value)
    if name == "CartPole-v1":
        classic.total_mass = classic.masspole + classic.masscart
        classic.polemass_length = classic.masspole * classic.length
    return environment


def rollout(environment, policy, seed, start=None):
    """The start state and the steps of an episode. `policy` chooses an action from the step's number and the state."""
    environment.reset(seed=seed)
    classic = environment.unwrapped
    if start is not None:
        classic.state = numpy.array(start, dtype=numpy.float64)
    first = [float(x) for x in classic.state]
    space = environment.action_space
    steps = []
    while True:
        action = policy(len(steps), [float(x) for x in classic.state])
        if isinstance(space, gymnasium.spaces.Box):
            limit = getattr(classic, "max_torque", 1.0)
            action = numpy.clip(numpy.array([action], dtype=numpy.float32), -limit, limit)
        observation, reward, terminated, truncated, _ = environment.step(action)
        steps.append((float(numpy.ravel(action)[0]), reward, terminated, truncated, observation))
        if terminated or truncated:
            return first, steps


def write(name, trajectory, options):
    first, steps = trajectory
    print(f"trajectory {name} {len(steps)} {json.dumps(options, separators=(',', ':'))}")
    print(" ".join(f"{x:.17g}" for x in first))
    for action, reward, terminated, truncated, observation in steps:
        numbers = " ".join(f"{float(x):.9g}" for x in observation)
        print(f"{action:.9g} {float(reward):.17g} {int(terminated)} {int(truncated)} {numbers}")


def always(action):
    return lambda t, state: action


def alternate(t, state):
    return t % 2


def random_choices(count, seed):
    generator = numpy.random.default_rng(seed)
    return lambda t, state: int(generator.integers(count))


def random_forces(limit, seed):
    generator = numpy.random.default_rng(seed)
    return lambda t, state: generator.uniform(-limit, limit)


def cartpole():
    def balance(t, state):
        return int(numpy.dot(state, [0.05, 0.2, 1.0, 0.4]) > 0)

    def balance_until(last):
        """Balances, then pushes to the right until the pole falls."""
        return lambda t, state: balance(t, state) if t < last else 1

    def ends_both_ways():
        """The seed and the policy of an episode whose pole falls in exactly the 500th step."""
        for seed in range(100):
            for last in range(480, 500):
                _, steps = rollout(make("CartPole-v1", {}), balance_until(last), seed)
                if steps[-1][2] and steps[-1][3]:
                    return balance_until(last), seed
        raise RuntimeError("no such trajectory")

    yield "always_0", always(0), 0
    yield "always_1", always(1), 1
    yield "alternate", alternate, 2
    for seed in (3, 4, 5):
        yield f"random_{seed}", random_choices(2, seed), seed
    yield "leaves_to_the_left", alternate, 6, [-2.3, -1.5, 0.0, 0.0]
    yield "leaves_to_the_right", alternate, 6, [2.3, 1.5, 0.0, 0.0]
    yield "wild_start", balance, 6, [0.5, -2.0, 0.15, -3.0]
    yield "balance_truncated", balance, 7
    yield "terminated_in_the_last_step", *ends_both_ways()
    yield "sutton_barto", random_choices(2, 8), 8, None, {"sutton_barto_reward": True}
    other = {"gravity": 12.5, "cart_mass": 0.7, "pole_mass": 0.3, "pole_half_length": 0.8, "force": 6, "time_step": 0.01}
    yield "other_physics", balance, 9, None, other | {"max_episode_steps": 150}


def pendulum():
    def swing_up(t, state):
        """Brings the energy to that of the upright rest, and holds the pendulum there."""
        angle, speed = state
        cosine, sine = numpy.cos(angle), numpy.sin(angle)
        if cosine > 0.95:
            return -12 * sine - 3 * speed
        missing = 15 * (1 - cosine) - speed**2 / 2
        return missing * (speed if speed != 0 else 1)

    for torque in (-2, 0, 2):
        yield f"always_{torque}", always(torque), 3 + torque
    for seed in (6, 7):
        yield f"random_{seed}", random_forces(2, seed), seed
    yield "swing_up", swing_up, 8, [numpy.pi, 0.0]
    yield "many_turns_forwards", always(2), 9, [3.0, 8.0]
    yield "many_turns_backwards", always(-2), 9, [-3.0, -8.0]
    other = {"gravity": 3.7, "mass": 1.3, "length": 0.6, "max_torque": 0.8, "time_step": 0.04}
    yield "other_physics", random_forces(0.8, 10), 10, None, other | {"max_episode_steps": 80}


def acrobot():
    def pump(t, state):
        """Pushes the outer link the way it moves, whereby the energy grows."""
        return 2 if state[3] > 0 else 0

    yield "random", random_choices(3, 1), 1
    yield "pump", pump, 2
    yield "both_speeds_reach_their_limits", always(2), 3, [3.0, -3.0, 12.0, -28.0], {"max_episode_steps": 60}
    yield "nips", pump, 4, None, {"dynamics": "nips", "time_step": 0.1, "max_episode_steps": 150}


def mountain_car():
    def rock(t, state):
        return 2 if state[1] >= 0 else 0

    yield "random", random_choices(3, 1), 1
    yield "rock", rock, 2
    yield "left_wall", always(0), 3, [-1.0, -0.06]
    yield "other_physics", rock, 4, None, {"force": 0.0012, "gravity": 0.002, "goal_speed": 0.03}
    yield "too_slow_at_the_goal", always(2), 5, [0.49, 0.02], {"goal_speed": 0.06, "max_episode_steps": 100}


def mountain_car_continuous():
    def rock(t, state):
        return 0.9 if state[1] >= 0 else -0.9

    yield "random", random_forces(1, 1), 1
    yield "rock", rock, 2
    yield "left_wall", always(-1), 3, [-1.0, -0.06], {"max_episode_steps": 100}
    yield "other_physics", rock, 4, None, {"power": 0.002, "goal_speed": 0.03}
    yield "too_slow_at_the_goal", always(1), 5, [0.44, 0.02], {"goal_speed": 0.06, "max_episode_steps": 100}


RECORDED = {
    "Acrobot-v1": acrobot,
    "CartPole-v1": cartpole,
    "MountainCar-v0": mountain_car,
    "MountainCarContinuous-v0": mountain_car_continuous,
    "Pendulum-v1": pendulum,
}


def random_episodes(name, count):
    space = gymnasium.make(name).action_space
    for seed in range(count):
        is_box = isinstance(space, gymnasium.spaces.Box)
        yield f"random_{seed}", random_forces(space.high[0], seed) if is_box else random_choices(space.n, seed), seed


def main():
    name = sys.argv[1]
    print(f"# Gymnasium {gymnasium.__version__}, by tests/golden/record_classics.py")
    trajectories = random_episodes(name, int(sys.argv[2])) if len(sys.argv) > 2 else RECORDED[name]()
    for title, policy, seed, *rest in trajectories:
        start, options = (*rest, None, None)[:2]
        options = options or {}
        write(title, rollout(make(name, options), policy, seed, start), options)


main()
