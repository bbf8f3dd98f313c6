"""The leaves of an environment's spaces, and conversion from and to values in Gymnasium's form."""

from collections.abc import Mapping

import numpy as np

_ROOTS = ("observation", "action", "action_mask")


class Leaf:
    """One array of a space. `start` is the number of its first choice in the user's own space."""

    def __init__(self, facts):
        self.name = facts["name"]
        self.kind = facts["kind"]
        self.dtype = np.dtype(facts["dtype"])
        self.shape = tuple(facts["shape"])
        self.num_values = facts.get("num_values", [])
        self.low = np.array([float(bound) for bound in facts.get("low", [])])
        self.high = np.array([float(bound) for bound in facts.get("high", [])])
        self.start = np.array(facts.get("start", 0), np.int64).reshape(self.shape if "start" in facts else ())
        parts = self.name.split("/")
        root = 0 if parts[0] in _ROOTS else 1
        self.agent = parts[0] if root else None
        self.root = parts[root]
        self.path = parts[root + 1 :]
        self.starts = bool(np.any(self.start))

    def __repr__(self):
        return f"{self.name}: {self.dtype.name}{list(self.shape)}"

    def array(self, value):
        """The value as an array of the leaf's type, [shape] or [batch, shape]. Raises ValueError, naming the leaf."""
        array = np.asarray(value)
        if array.shape != self.shape and array.shape[1:] != self.shape:
            wanted = ", ".join(str(size) for size in self.shape)
            raise ValueError(f"{self.name}: got the shape {list(array.shape)}; wanted [{wanted}] or [batch"
                             f"{', ' if wanted else ''}{wanted}]")
        if self.kind == "multi-binary":
            return array != 0
        if self.starts:
            array = array - self.start
        if array.dtype != self.dtype and not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise ValueError(f"{self.name}: got elements of {array.dtype.name}; wanted {self.dtype.name}")
        if self.num_values and array.size and (np.any(array < 0) or np.any(array >= np.asarray(self._limits()))):
            raise ValueError(f"{self.name}: got a choice out of range; wanted one of {self.num_values} choices")
        return np.asarray(array, self.dtype, order="C")

    def _limits(self):
        return self.num_values[0] if self.kind == "discrete" else self.num_values

    def is_batch(self, array):
        return array.ndim == len(self.shape) + 1


def find(leaf, value):
    """A leaf's part of an observation in Gymnasium's form, or of a dict of agents.

    Raises KeyError, IndexError or TypeError if the observation has no such part.
    """
    if leaf.agent is not None:
        value = value[leaf.agent]
    if isinstance(value, Mapping) and set(value) == {"observation", "action_mask"}:  # The form of PettingZoo's classic games.
        value = value[leaf.root]
    elif leaf.root == "action_mask":
        if not isinstance(value, Mapping):
            raise KeyError(leaf.root)
        value = value[leaf.root]
    for key in leaf.path:
        value = value[int(key) if isinstance(value, tuple) else key]
    return value


def join(values):
    """Actions in Gymnasium's form, made of (leaf, array) pairs: an array, a dict or tuple of arrays, or a dict of agents."""
    agents = {}
    for leaf, array in values:
        _put(agents, [leaf.agent, *leaf.path], array)
    joined = {agent: _tuples(part) for agent, part in agents.items()}
    return joined[None] if list(joined) == [None] else joined


def _put(tree, path, value):
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = value


def _tuples(tree):
    if not isinstance(tree, dict):
        return tree
    parts = {key: _tuples(part) for key, part in tree.items()}
    return tuple(parts.values()) if list(parts) == [str(i) for i in range(len(parts))] else parts
