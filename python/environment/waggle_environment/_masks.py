"""Masks of legal actions, which environments have inside the observation or in `info`."""

import numpy as np
from gymnasium import spaces

from waggle_environment._refused import Refused
from waggle_environment._spaces import Leaf, leaves_of

MASK = "action_mask"


def observation_leaves(space, action_space, info, notes, agent="", path=()):
    """The leaves of the observation, and the leaf of a mask in `info`."""
    if isinstance(space, spaces.Dict) and MASK in space.spaces:
        return _with_mask_inside(space, action_space, notes, agent, path), []
    observations = leaves_of(space, f"{agent}observation", notes, path=path)
    if MASK not in info:
        return observations, []
    return observations, [_mask_leaf(action_space, np.asarray(info[MASK]).shape, agent, ())]


def _with_mask_inside(space, action_space, notes, agent, path):
    """The leaves of {"observation": …, "action_mask": …}, a form that PettingZoo and others use."""
    others = {key: inner for key, inner in space.spaces.items() if key != MASK}
    leaves = []
    for key, inner in others.items():
        root = f"{agent}observation" if list(others) == ["observation"] else f"{agent}observation/{key}"
        leaves += leaves_of(inner, root, notes, path=(*path, key))
    return [*leaves, _mask_leaf(action_space, space.spaces[MASK].shape, agent, (*path, MASK))]


def _mask_leaf(action_space, shape, agent, path):
    wanted = (int(action_space.n),) if isinstance(action_space, spaces.Discrete) else None
    if isinstance(action_space, spaces.MultiDiscrete):
        wanted = (int(action_space.nvec.sum()),)
    if shape is None or tuple(shape) != wanted:
        told = "several masks" if shape is None else f"the shape {list(shape)}"
        raise Refused(f"{agent}{MASK}: got {told} for the actions {action_space}; wanted one element "
                      "a choice")
    return Leaf(f"{agent}{MASK}", "multi-binary", np.dtype(bool), wanted, path)
