"""Lanes with an environment each, which is reset when its episode has ended."""

import numpy as np

from waggle_environment._masks import MASK, observation_leaves
from waggle_environment._memory import FIRST, LAST, LEAVE, MID, STEP
from waggle_environment._spaces import ActionReader, Spec, leaves_of, reward_leaf


class SingleLanes:
    """Environments with Gymnasium's `reset` and `step`, all of one kind.

    An environment with `leaves(notes)` names its own leaves (observations, actions, rewards), and its rewards are one
    value a leaf.
    """

    def __init__(self, environments, name):
        self._environments = environments
        self._name = name
        self._steps = [environment.step for environment in environments]
        self._seeded = [False] * len(environments)
        self._ended = [True] * len(environments)
        first = environments[0]
        notes = []
        self._masks = 0
        if hasattr(first, "leaves"):
            self._observations, actions, rewards = first.leaves(notes)
        else:
            _, info = first.reset(seed=0)
            self._observations, in_info = observation_leaves(first.observation_space, first.action_space, info, notes)
            self._masks = len(in_info)
            self._observations += in_info
            actions = leaves_of(first.action_space, "action", notes)
            # Rewards of several dimensions, as in mo-gymnasium.
            rewards = [reward_leaf("reward", getattr(getattr(first, "reward_space", None), "shape", ()))]
        specification = getattr(first, "spec", None)
        limit = getattr(specification, "max_episode_steps", None)
        self.spec = Spec(self._observations, actions, rewards, limit or 0, notes=notes)
        self._actions = ActionReader(first.action_space, actions)
        one = self._observations[0]
        # A mask that appears in `info` later is an error: no leaf would hold it.
        has_mask = any(leaf.name.endswith(MASK) for leaf in self._observations)
        self._unexpected = None if has_mask or hasattr(first, "leaves") else MASK
        # Nearly always there is one array and one number, which are written without following paths.
        self._plain = len(self._observations) == 1 and not (one.path or one.starts() or self._masks)
        self._plain_reward = len(rewards) == 1 and rewards[0].shape == ()

    def run(self, group):
        commands = group.commands.tolist()
        actions = self._actions.read(group.actions)
        ended, steps, plain, unexpected = self._ended, self._steps, self._plain, self._unexpected
        rewards = [0.0] * group.lanes if self._plain_reward else None
        group.step_types.fill(MID)
        group.discounts.fill(1)
        array = group.observations[0]
        shape = array.shape[1:]
        for lane, command in enumerate(commands):
            reward = 0.0
            if command == STEP and not ended[lane]:
                observation, reward, terminated, truncated, info = steps[lane](actions[lane])
                if terminated or truncated:
                    ended[lane] = True
                    group.step_types[lane] = LAST
                    if terminated:
                        group.discounts[lane] = 0
            elif command == LEAVE:
                continue
            else:
                observation, info = self._reset(lane, group.seeds)
                group.step_types[lane] = FIRST
                group.discounts[lane] = 0
            if unexpected in info:
                raise ValueError(f"{self._name}: info has {MASK}, which it had not at the first reset")
            if plain and getattr(observation, "shape", ()) == shape:
                array[lane] = observation
            else:
                self._write(group, lane, observation, info)
            if rewards is not None:
                rewards[lane] = reward
            else:
                self._write_rewards(group, lane, reward)
        if rewards is not None:
            group.rewards[0][:] = rewards

    def render(self):
        """A picture of the first environment."""
        return self._environments[0].render()

    def wrap(self, wrapper):
        """Replaces each environment by `wrapper(environment)`, which must have the same spaces."""
        self._environments = [wrapper(environment) for environment in self._environments]
        self._steps = [environment.step for environment in self._environments]

    def close(self):
        for environment in self._environments:
            environment.close()

    def _reset(self, lane, seeds):
        # A seed at each reset would give the same episode for ever.
        seed = None if self._seeded[lane] else int(seeds[lane]) % 2**31
        self._seeded[lane] = True
        self._ended[lane] = False
        return self._environments[lane].reset(seed=seed)

    def _write(self, group, lane, observation, info):
        inside = len(self._observations) - self._masks
        for leaf, array in zip(self._observations[:inside], group.observations):
            value = np.asarray(leaf.find(observation))
            if value.shape != array.shape[1:]:
                raise ValueError(f"{self._name}: {leaf.name}: got an array of shape {list(value.shape)}; wanted "
                                 f"{list(array.shape[1:])}")
            array[lane] = value
        for array in group.observations[inside:]:
            if MASK not in info:
                raise ValueError(f"{self._name}: info has no {MASK}, which it had at the first reset")
            array[lane] = info[MASK]

    def _write_rewards(self, group, lane, reward):
        if len(group.rewards) == 1:
            group.rewards[0][lane] = reward
            return
        for leaf, array in zip(self.spec.rewards, group.rewards):
            array[lane] = reward[leaf.path[0]] if reward else 0
