"""Environments of several agents."""

import unittest

import numpy as np
import support
from gymnasium import spaces

from waggle_environment._agents import ParallelAgents
from waggle_environment._memory import FIRST, LAST, MID, RESET, STEP
from waggle_environment._refused import Refused
from waggle_environment._single import SingleLanes


class Walkers:
    """A parallel environment of PettingZoo's form with two agents: `a` leaves after two steps, `b` after four."""

    def __init__(self, b_is_truncated=False):
        self.possible_agents = ["a", "b"]
        self._b_is_truncated = b_is_truncated

    def observation_space(self, agent):
        return spaces.Box(-10, 10, (2,), np.float32) if agent == "a" else spaces.Discrete(9)

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.agents = ["a", "b"]
        self._steps = 0
        return self._observations(), {"a": {"action_mask": np.array([1, 1, 0], np.int8)}, "b": {}}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self._steps += 1
        leaving = {"a": self._steps == 2, "b": self._steps == 4}
        here = self.agents
        rewards = {agent: float(actions[agent]) for agent in here}
        truncated = {agent: leaving[agent] and agent == "b" and self._b_is_truncated for agent in here}
        terminated = {agent: leaving[agent] and not truncated[agent] for agent in here}
        self.agents = [agent for agent in here if not leaving[agent]]
        infos = {"a": {"action_mask": np.array([0, 1, 1], np.int8)}, "b": {}}
        return {agent: value for agent, value in self._observations().items() if agent in here}, rewards, terminated, \
            truncated, infos

    def close(self):
        pass

    def _observations(self):
        return {"a": np.full(2, self._steps, np.float32), "b": self._steps}


def shown(group, lanes):
    return {leaf.name: array[0].tolist() for leaf, array in zip(lanes.spec.observations, group.observations)}


class AgentsTest(unittest.TestCase):
    def test_every_agent_has_leaves_and_a_reward_until_all_have_left(self):
        lanes = SingleLanes([ParallelAgents(Walkers(), "Walkers")], "Walkers")
        self.assertEqual([leaf.name for leaf in lanes.spec.observations],
                         ["a/observation", "a/action_mask", "b/observation", "observation/alive"])
        self.assertEqual([leaf.name for leaf in lanes.spec.actions], ["a/action", "b/action"])
        self.assertEqual([leaf.name for leaf in lanes.spec.rewards], ["a/reward", "b/reward"])
        group = support.lay_out(lanes.spec, 1)
        for episode in range(2):
            group.commands[:] = RESET if episode == 0 else STEP
            lanes.run(group)
            self.assertEqual(group.step_types[0], FIRST)
            self.assertEqual(group.rewards[0][0], 0)
            self.assertEqual(shown(group, lanes)["a/action_mask"], [True, True, False])
            self.assertEqual(shown(group, lanes)["observation/alive"], [True, True])
            for step in range(1, 5):
                group.commands[:] = STEP
                group.actions[0][:], group.actions[1][:] = 1, 2
                lanes.run(group)
                self.assertEqual(group.step_types[0], LAST if step == 4 else MID)
                self.assertEqual(group.discounts[0], 0 if step == 4 else 1)
                self.assertEqual(group.rewards[0][0], 1 if step <= 2 else 0)
                self.assertEqual(group.rewards[1][0], 2)
                values = shown(group, lanes)
                self.assertEqual(values["a/observation"], [step, step] if step <= 2 else [0, 0])
                self.assertEqual(values["b/observation"], step)
                self.assertEqual(values["observation/alive"], [step < 2, step < 4])

    def test_an_episode_that_cuts_off_an_agent_is_truncated(self):
        lanes = SingleLanes([ParallelAgents(Walkers(b_is_truncated=True), "Walkers")], "Walkers")
        group = support.lay_out(lanes.spec, 1)
        for _ in range(5):
            group.commands[:] = STEP
            lanes.run(group)
        self.assertEqual((group.step_types[0], group.discounts[0]), (LAST, 1))

    def test_other_objects_are_refused(self):
        with self.assertRaisesRegex(Refused, "possible_agents"):
            ParallelAgents(object(), "Thing")


if __name__ == "__main__":
    unittest.main()
