"""Lanes that are environments of their own, each reset when its episode has ended."""

import numpy as np
from gymnasium import spaces

from waggle_environment._memory import FIRST, LAST, LEAVE, MID, STEP
from waggle_environment._spaces import ActionReader, Leaf, Refused, Spec, leaves_of, reward_leaf

_MASK = "action_mask"


class SingleLanes:
    def __init__(self, environments, name):
        self._environments = environments
        self._name = name
        self._steps = [environment.step for environment in environments]
        self._seeded = [False] * len(environments)
        self._ended = [True] * len(environments)
        first = environments[0]
        notes = []
        actions = leaves_of(first.action_space, "action", notes)
        observations, self._masks = _observation_leaves(first, notes)
        limit = getattr(first.spec, "max_episode_steps", None) if first.spec is not None else None
        self.spec = Spec(observations + self._masks, actions, [reward_leaf()], limit or 0, notes=notes)
        self._actions = ActionReader(first.action_space, actions)
        self._leaves = observations
        # Nearly always there is one array: it is written without asking where it is.
        self._plain = len(observations) == 1 and not (observations[0].path or observations[0].starts() or self._masks)

    def run(self, group):
        commands = group.commands.tolist()
        actions = self._actions.read(group.actions)
        ended, steps, plain = self._ended, self._steps, self._plain
        rewards = [0.0] * group.lanes
        group.step_types.fill(MID)
        group.discounts.fill(1)
        array = group.observations[0]
        shape = array.shape[1:]
        for lane, command in enumerate(commands):
            if command == STEP and not ended[lane]:
                observation, rewards[lane], terminated, truncated, info = steps[lane](actions[lane])
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
            if plain and getattr(observation, "shape", ()) == shape:
                array[lane] = observation
            else:
                self._write(group, lane, observation, info)
        group.rewards[0][:] = rewards

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
        for leaf, array in zip(self._leaves, group.observations):
            value = np.asarray(leaf.find(observation))
            if value.shape != array.shape[1:]:
                raise ValueError(f"{self._name}: {leaf.name}: got an array of shape {list(value.shape)}; wanted "
                                 f"{list(array.shape[1:])}")
            array[lane] = value
        for array in group.observations[len(self._leaves):]:
            if _MASK not in info:
                raise ValueError(f"{self._name}: info has no {_MASK}, which it had at the first reset")
            array[lane] = info[_MASK]


def _observation_leaves(environment, notes):
    """The leaves of what is observed, and those of the mask that `info` has."""
    space = environment.observation_space
    if isinstance(space, spaces.Dict) and _MASK in space.spaces:
        return _with_mask_inside(environment, space, notes), []
    observations = leaves_of(space, "observation", notes)
    _, info = environment.reset(seed=0)
    if _MASK not in info:
        return observations, []
    return observations, [_mask_leaf(environment, np.asarray(info[_MASK]).shape, ())]


def _with_mask_inside(environment, space, notes):
    """{"observation": …, "action_mask": …}, as PettingZoo's and many others' have it."""
    others = {key: inner for key, inner in space.spaces.items() if key != _MASK}
    leaves = []
    for key, inner in others.items():
        name = "observation" if list(others) == ["observation"] else f"observation/{key}"
        leaves += leaves_of(inner, "observation", notes, name, (key,))
    return [*leaves, _mask_leaf(environment, space.spaces[_MASK].shape, (_MASK,))]


def _mask_leaf(environment, shape, path):
    action = environment.action_space
    wanted = (int(action.n),) if isinstance(action, spaces.Discrete) else None
    if isinstance(action, spaces.MultiDiscrete):
        wanted = (int(action.nvec.sum()),)
    if tuple(shape) != wanted:
        raise Refused(f"{_MASK}: got the shape {list(shape)} for the actions {action}; wanted one element a choice")
    return Leaf(_MASK, "multi-binary", np.dtype(bool), wanted, path)
