"""Spaces of Gymnasium as leaves: arrays with a name, an element type, a shape and a kind (docs/spaces.md)."""

import dataclasses
import re

import numpy as np
from gymnasium import spaces

from waggle_environment._refused import Refused

_PART = re.compile(r"[A-Za-z0-9._-]+\Z")
_DTYPES = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32"}


@dataclasses.dataclass
class Leaf:
    """One array. `path` leads to it inside a value of the space; `start` is the number of its first choice there."""

    name: str
    kind: str
    dtype: np.dtype
    shape: tuple
    path: tuple
    num_values: list = dataclasses.field(default_factory=list)
    low: list = dataclasses.field(default_factory=list)
    high: list = dataclasses.field(default_factory=list)
    start: object = 0

    def to_json(self):
        told = {"name": self.name, "kind": self.kind, "dtype": self.dtype.name, "shape": list(self.shape)}
        for key in ("num_values", "low", "high"):
            if getattr(self, key):
                told[key] = getattr(self, key)
        if self.starts():
            told["start"] = np.broadcast_to(self.start, self.shape).reshape(-1).tolist()
        return told

    def find(self, value):
        """This leaf's part of a value of the space."""
        for key in self.path:
            value = value[key]
        return value - self.start if self.starts() else value

    def starts(self):
        return bool(np.any(self.start))


@dataclasses.dataclass
class Spec:
    observations: list
    actions: list
    rewards: list
    max_episode_steps: int = 0
    whole_groups: bool = False  # True if the lanes of a group can only be stepped together.
    notes: list = dataclasses.field(default_factory=list)

    def to_json(self):
        return {
            "observations": [leaf.to_json() for leaf in self.observations],
            "actions": [leaf.to_json() for leaf in self.actions],
            "rewards": [{"name": leaf.name, "shape": list(leaf.shape)} for leaf in self.rewards],
            "max_episode_steps": self.max_episode_steps,
            "whole_groups": self.whole_groups,
            "notes": self.notes,
        }


def reward_leaf(name="reward", shape=(), path=()):
    return Leaf(name, "box", np.dtype(np.float32), tuple(shape), path)


def leaves_of(space, name, notes, path=()):
    """The leaves of a space, in the order of its keys. Adds changes, such as of element types, to `notes`."""
    if isinstance(space, spaces.Dict):
        return [
            leaf
            for key, inner in space.spaces.items()
            for leaf in leaves_of(inner, _join(name, key), notes, (*path, key))
        ]
    if isinstance(space, spaces.Tuple):
        return [
            leaf
            for index, inner in enumerate(space.spaces)
            for leaf in leaves_of(inner, _join(name, str(index)), notes, (*path, index))
        ]
    if isinstance(space, spaces.Discrete):
        return [Leaf(name, "discrete", np.dtype(np.int64), (), path, [int(space.n)], start=int(space.start))]
    if isinstance(space, spaces.MultiDiscrete):
        if space.nvec.ndim != 1:
            raise Refused(f"{name}: got a MultiDiscrete of shape {space.shape}; wanted one dimension")
        return [
            Leaf(
                name, "multi-discrete", np.dtype(np.int64), space.shape, path, space.nvec.tolist(), start=space.start
            )
        ]
    if isinstance(space, spaces.MultiBinary):
        return [Leaf(name, "multi-binary", np.dtype(bool), space.shape, path)]
    if isinstance(space, spaces.Box):
        return [_box(space, name, notes, path)]
    raise Refused(f"{name}: got a space {type(space).__name__}, which has no fixed arrays; wanted Box, Discrete, "
                  "MultiDiscrete, MultiBinary, or a Dict or Tuple of these")


def _join(name, part):
    if not isinstance(part, str) or not _PART.match(part):
        raise Refused(f"{name}: got the key {part!r}; wanted letters, digits, '.', '_' and '-'")
    return f"{name}/{part}"


def _box(space, name, notes, path):
    dtype = space.dtype
    if dtype == np.float64:
        notes.append(f"{name}: float64 is narrowed to float32")
        dtype = np.dtype(np.float32)
    if dtype.name not in _DTYPES:
        raise Refused(f"{name}: got elements of {dtype.name}; wanted one of {', '.join(sorted(_DTYPES))}")
    leaf = Leaf(name, "box", dtype, space.shape, path)
    leaf.low, leaf.high = _bounds(space.low), _bounds(space.high)
    if leaf.low == [float("-inf")] and leaf.high == [float("inf")]:
        leaf.low = leaf.high = []
    leaf.low, leaf.high = [[_number(one) for one in bound] for bound in (leaf.low, leaf.high)]
    return leaf


def _bounds(bounds):
    """One number if all are equal, else one for each element."""
    flat = np.asarray(bounds, np.float64).reshape(-1)
    return [float(flat[0])] if flat.size and (flat == flat[0]).all() else flat.tolist()


def _number(value):
    """The value in JSON, which has no infinities."""
    return "inf" if value == float("inf") else "-inf" if value == float("-inf") else value


class ActionReader:
    """Makes an environment's actions from rows of arrays."""

    def __init__(self, space, leaves):
        self._space = space
        self._leaves = leaves
        plain = len(leaves) == 1 and not leaves[0].path
        self.plain_discrete = plain and leaves[0].kind == "discrete"
        self.plain_box = plain and leaves[0].kind == "box"

    def read(self, arrays):
        """A list with one action a row."""
        if self.plain_discrete:
            start = self._leaves[0].start
            chosen = arrays[0].tolist()
            return [one + start for one in chosen] if start else chosen
        if self.plain_box:
            return list(arrays[0].astype(self._space.dtype))
        rows = [self._values(leaf, array) for leaf, array in zip(self._leaves, arrays)]
        return [self._build(self._space, iter([row[i] for row in rows])) for i in range(len(arrays[0]))]

    def read_batch(self, arrays):
        """The actions of a vector environment: the space's form, with rows in front of each array."""
        values = [self._values(leaf, array) for leaf, array in zip(self._leaves, arrays)]
        return self._build(self._space, iter(values))

    @staticmethod
    def _values(leaf, array):
        if leaf.kind == "multi-binary":
            return array.astype(np.int8)
        return array + leaf.start if leaf.starts() else array.copy()

    def _build(self, space, values):
        if isinstance(space, spaces.Dict):
            return {key: self._build(inner, values) for key, inner in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(self._build(inner, values) for inner in space.spaces)
        value = next(values)
        return value.astype(space.dtype) if isinstance(space, spaces.Box) else value
