"""Lanes of one vector environment, which steps all of them together and resets them itself."""

import numpy as np
from gymnasium.vector import AutoresetMode

from waggle_environment._masks import MASK, observation_leaves
from waggle_environment._memory import FIRST, LAST, MID, RESET, STEP
from waggle_environment._refused import Refused
from waggle_environment._spaces import ActionReader, Spec, leaves_of, reward_leaf


class VectorLanes:
    def __init__(self, environment, name):
        self._environment = environment
        self._name = name
        mode = environment.metadata.get("autoreset_mode")
        if mode != AutoresetMode.NEXT_STEP:
            # SAME_STEP gives two rows for one action; DISABLED waits for a reset.
            raise Refused(f"environment.gymnasium.vector: {name} has the autoreset mode "
                          f"{getattr(mode, 'value', mode)}; wanted {AutoresetMode.NEXT_STEP.value}")
        notes = []
        _, info = environment.reset(seed=0)
        observations, in_info = observation_leaves(
            environment.single_observation_space, environment.single_action_space, _first_lane(info), notes)
        self._masks = len(in_info)
        observations += in_info
        actions = leaves_of(environment.single_action_space, "action", notes)
        limit = getattr(environment.spec, "max_episode_steps", None) if environment.spec is not None else None
        self.spec = Spec(observations, actions, [reward_leaf()], limit or 0, whole_groups=True, notes=notes)
        self._actions = ActionReader(environment.single_action_space, actions)
        self._ended = np.zeros(environment.num_envs, bool)
        self._seeded = False

    def run(self, group):
        if not self._seeded or (group.commands == RESET).all():
            observation, info = self._reset(group)
        elif (group.commands == STEP).all():
            observation, info = self._step(group)
        else:
            raise ValueError(f"{self._name}: a vector environment steps all lanes of a group, or resets all")
        inside = len(self.spec.observations) - self._masks
        for i, (leaf, array) in enumerate(zip(self.spec.observations, group.observations)):
            value = np.asarray(leaf.find(observation) if i < inside else info[MASK])
            if value.dtype == object:  # One mask a lane.
                value = np.stack(value)
            if value.shape != array.shape:
                raise ValueError(f"{self._name}: {leaf.name}: got an array of shape {list(value.shape)}; wanted "
                                 f"{list(array.shape)}")
            array[:] = value

    def close(self):
        self._environment.close()

    def _reset(self, group):
        seed = None if self._seeded else int(group.seeds[0]) % 2**31
        self._seeded = True
        observation, info = self._environment.reset(seed=seed)
        self._ended[:] = False
        group.step_types.fill(FIRST)
        group.discounts.fill(0)
        group.rewards[0].fill(0)
        return observation, info

    def _step(self, group):
        began = self._ended  # The call after an end resets the lane, and looks like any other step.
        observation, rewards, terminated, truncated, info = self._environment.step(
            self._actions.read_batch(group.actions))
        self._ended = (terminated | truncated) & ~began
        group.step_types.fill(MID)
        group.step_types[self._ended] = LAST
        group.step_types[began] = FIRST
        group.discounts[:] = ~(terminated & self._ended)
        group.discounts[began] = 0
        group.rewards[0][:] = rewards
        group.rewards[0][began] = 0
        return observation, info


def _first_lane(info):
    """The mask in the info of lane 0."""
    return {MASK: info[MASK][0]} if MASK in info else {}
