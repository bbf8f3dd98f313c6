"""Compares rows of lanes with a slow reference, which follows the table of autoreset modes."""

import os
import random
import unittest

import gymnasium
import numpy as np
import support
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from waggle_environment._memory import FIRST, LAST, LEAVE, MID, RESET, STEP
from waggle_environment._open import open_lanes
from waggle_environment._refused import Refused
from waggle_environment._single import SingleLanes
from waggle_environment._vector import VectorLanes

STEPS = int(os.environ.get("WAGGLE_STEPS", "20000"))


def random_space(draw, depth=0):
    kind = draw.choice(["box", "box64", "image", "discrete", "multi", "binary"] + ["dict", "tuple"] * (depth < 2))
    if kind == "dict":
        return spaces.Dict({f"k{i}": random_space(draw, depth + 1) for i in range(draw.randint(1, 3))})
    if kind == "tuple":
        return spaces.Tuple([random_space(draw, depth + 1) for _ in range(draw.randint(1, 3))])
    if kind == "discrete":
        return spaces.Discrete(draw.randint(2, 5), start=draw.choice([0, 0, -1, 3]))
    if kind == "multi":
        return spaces.MultiDiscrete([draw.randint(2, 4) for _ in range(draw.randint(1, 3))])
    if kind == "binary":
        return spaces.MultiBinary(draw.randint(1, 4))
    if kind == "image":
        return spaces.Box(0, 255, (draw.randint(1, 3), 2), np.uint8)
    shape = tuple(draw.randint(1, 3) for _ in range(draw.randint(0, 2)))
    return spaces.Box(-1.0, 1.0, shape, np.float64 if kind == "box64" else np.float32)


def with_mask(draw, space, action_space):
    """Where the mask is: nowhere, inside the observation or in `info`."""
    choices = int(action_space.n) if isinstance(action_space, spaces.Discrete) else None
    if isinstance(action_space, spaces.MultiDiscrete):
        choices = int(action_space.nvec.sum())
    form = draw.choice(["none", "inside", "info"]) if choices else "none"
    if form == "inside":
        space = spaces.Dict({"observation": space, "action_mask": spaces.MultiBinary(choices)})
    return space, form, choices


class Scripted(gymnasium.Env):
    """Its rows follow from its seed and its actions. Episodes end at random, in one of the three ways."""

    def __init__(self, shape_seed, action_space=None):
        draw = random.Random(shape_seed)
        self.action_space = action_space or random_space(draw)
        self.observation_space, self._mask, self._choices = with_mask(draw, random_space(draw), self.action_space)
        self._draw = np.random.default_rng(0)

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._draw = np.random.default_rng(seed)
            self.observation_space.seed(seed)
        return self.observation_space.sample(), self._info()

    def step(self, action):
        assert self.action_space.contains(action), (action, self.action_space)
        terminated, truncated = self._draw.random() < 0.1, self._draw.random() < 0.1
        return self.observation_space.sample(), float(self._draw.normal()), terminated, truncated, self._info()

    def _info(self):
        if self._mask != "info":
            return {}
        return {"action_mask": self._draw.integers(0, 2, self._choices).astype(np.int8)}


def flat(space, value, name):
    """Pairs of a name and an array, by an independent recursion."""
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from flat(inner, value[key], f"{name}/{key}")
    elif isinstance(space, spaces.Tuple):
        for i, inner in enumerate(space.spaces):
            yield from flat(inner, value[i], f"{name}/{i}")
    elif isinstance(space, spaces.Discrete):
        yield name, np.int64(value - space.start)
    elif isinstance(space, spaces.Box) and space.dtype == np.float64:
        yield name, np.asarray(value, np.float32)
    elif isinstance(space, spaces.MultiBinary):
        yield name, np.asarray(value, bool)
    else:
        yield name, np.asarray(value)


def shown(environment, observation, info):
    space = environment.observation_space
    if isinstance(space, spaces.Dict) and "action_mask" in space.spaces:
        arrays = dict(flat(space["observation"], observation["observation"], "observation"))
        return {**arrays, "action_mask": np.asarray(observation["action_mask"], bool)}
    arrays = dict(flat(space, observation, "observation"))
    if "action_mask" in info:
        arrays["action_mask"] = np.asarray(info["action_mask"], bool)
    return arrays


class Reference:
    """One environment, by the table: a reset is FIRST, an end LAST, and the call after an end a reset."""

    def __init__(self, environment, seed):
        self._environment = environment
        self._seed = seed
        self._ended = True

    def row(self, command, action):
        if command == RESET or self._ended:
            observation, info = self._environment.reset(seed=self._seed)
            self._seed = None
            self._ended = False
            return FIRST, 0.0, 0.0, shown(self._environment, observation, info)
        observation, reward, terminated, truncated, info = self._environment.step(action)
        self._ended = terminated or truncated
        step_type = LAST if self._ended else MID
        return step_type, reward, 0.0 if terminated else 1.0, shown(self._environment, observation, info)


def write_action(group, spec, lane, space, action):
    arrays = dict(flat(space, action, "action"))
    for leaf, array in zip(spec.actions, group.actions):
        array[lane] = arrays[leaf.name]


class LanesTest(unittest.TestCase):
    def assert_row(self, group, spec, lane, expected):
        step_type, reward, discount, arrays = expected
        self.assertEqual(group.step_types[lane], step_type)
        self.assertEqual(group.discounts[lane], discount)
        self.assertAlmostEqual(group.rewards[0][lane], reward, places=5)
        self.assertEqual({leaf.name for leaf in spec.observations}, set(arrays))
        for leaf, array in zip(spec.observations, group.observations):
            np.testing.assert_array_equal(array[lane], arrays[leaf.name], leaf.name)
            self.assertEqual(array.dtype, np.asarray(arrays[leaf.name]).dtype, leaf.name)

    def compare(self, make_lanes, draw_commands):
        """Compares rows of random environments, three lanes each, with the reference."""
        steps = shapes = 0
        while steps < STEPS:
            shapes += 1
            draw = random.Random(shapes)
            lanes = make_lanes(shapes)
            group = support.lay_out(lanes.spec, 3)
            references = [Reference(Scripted(shapes), seed) for seed in (7, 8, 9)]
            group.seeds[:] = (7, 8, 9)
            for step in range(300):
                commands = draw_commands(draw, step)
                before = [[array[lane].copy() for array in group.observations] for lane in range(3)]
                actions = [reference._environment.action_space.sample() for reference in references]
                for lane in range(3):
                    group.commands[lane] = commands[lane]
                    write_action(group, lanes.spec, lane, references[lane]._environment.action_space, actions[lane])
                lanes.run(group)
                for lane, command in enumerate(commands):
                    if command == LEAVE:
                        for array, old in zip(group.observations, before[lane]):
                            np.testing.assert_array_equal(array[lane], old)
                        continue
                    self.assert_row(group, lanes.spec, lane, references[lane].row(command, actions[lane]))
                    steps += 1

    def test_single_lanes(self):
        def make(shapes):
            return SingleLanes([Scripted(shapes) for _ in range(3)], "Scripted")

        self.compare(make, lambda draw, _: [draw.choice([LEAVE, *[STEP] * 5, RESET]) for _ in range(3)])

    def test_vector_lanes_that_reset_at_the_next_step(self):
        def make(shapes):
            vector = SyncVectorEnv([lambda: Scripted(shapes)] * 3, autoreset_mode=AutoresetMode.NEXT_STEP)
            return VectorLanes(vector, "Scripted")

        self.compare(make, lambda draw, step: [RESET if step == 0 or draw.random() < 0.02 else STEP] * 3)

    def test_other_autoreset_modes_are_refused(self):
        for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            vector = SyncVectorEnv([lambda: Scripted(1)] * 2, autoreset_mode=mode)
            with self.assertRaisesRegex(Refused, mode.value):
                VectorLanes(vector, "Scripted")
        vector = SyncVectorEnv([lambda: Scripted(1)] * 2)
        vector.metadata = {}
        with self.assertRaisesRegex(Refused, "autoreset"):
            VectorLanes(vector, "Scripted")

    def test_wrong_rows_are_errors(self):
        class Wrong(Scripted):
            def step(self, action):
                return np.zeros((9, 9), np.float32), 0.0, False, False, {}

        class Late(Scripted):
            def step(self, action):
                observation, reward, _, _, _ = super().step(action)
                return observation, reward, False, False, {"action_mask": np.ones(2, np.int8)}

        for kind, message in ((Wrong, "shape"), (Late, "action_mask")):
            environment = kind(1, spaces.Discrete(2))
            environment.observation_space = spaces.Box(-1, 1, (2,), np.float32)
            environment._mask = "none"
            lanes = SingleLanes([environment], "Wrong")
            group = support.lay_out(lanes.spec, 1)
            group.commands[:] = RESET
            lanes.run(group)
            group.commands[:] = STEP
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                lanes.run(group)

    def test_a_module_that_is_missing_is_named(self):
        with self.assertRaisesRegex(Refused, "environment.pettingzoo.id.*no module nowhere"):
            open_lanes("pettingzoo", {"id": "nowhere.at_all"}, [1])


if __name__ == "__main__":
    unittest.main()
