"""Episodes as rows, in a file between this package and Waggle's programs (docs/datasets.md).

The file begins with a line of JSON: the name of the environment and its spec, as an environment process sends it. Then
come blocks: an int64, the number of rows, and for each column in turn all its rows. Columns are the observations, the
actions, the reward, `discount` (float32) and `step_type` (int32). A block of 0 rows is the end. Readers hold a block in
memory, so that its rows and bytes are limited.
"""

import json
import struct

import numpy as np

from waggle_environment._refused import Refused

_BLOCK_ROWS = 4096  # actor/importing/dataset.cc refuses more.
_BLOCK_BYTES = 16 * 2**20  # A row may be larger.
FIRST, MID, LAST = 0, 1, 2


class Writer:
    """Writes episodes to an open binary file."""

    def __init__(self, file, name, spec):
        self._file = file
        self._spec = spec
        self._episodes = 0
        header = {"name": name, "spec": spec.to_json()}
        file.write(json.dumps(header).encode() + b"\n")

    def add(self, observations, actions, rewards, terminated):
        """An episode: nested observations of N + 1 rows, actions of N, and N rewards."""
        self._episodes += 1
        rewards = np.asarray(rewards)
        if rewards.ndim != 1 or not len(rewards):
            raise Refused(f"episode {self._episodes - 1}: rewards: got the shape {list(rewards.shape)}; wanted one "
                          "number a step, and at least one step")
        steps = len(rewards)
        columns = [self._column(leaf, observations, steps + 1) for leaf in self._spec.observations]
        for leaf in self._spec.actions:
            column = np.zeros((steps + 1, *leaf.shape), leaf.dtype)
            column[:steps] = _as_policy(leaf, self._column(leaf, actions, steps))
            columns.append(column)
        reward = np.zeros(steps + 1, np.float32)
        reward[:steps] = rewards
        discount = np.ones(steps + 1, np.float32)
        discount[steps - 1 if terminated else steps :] = 0
        step_type = np.full(steps + 1, MID, np.int32)
        step_type[0], step_type[steps] = FIRST, LAST
        columns += [reward, discount, step_type]
        block = max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // sum(column[0].nbytes for column in columns)))
        for first in range(0, steps + 1, block):
            rows = min(block, steps + 1 - first)
            self._file.write(struct.pack("<q", rows))
            for column in columns:
                self._file.write(np.ascontiguousarray(column[first : first + rows]).tobytes())

    def end(self):
        self._file.write(struct.pack("<q", 0))

    def _column(self, leaf, values, rows):
        found = np.asarray(leaf.find(values))
        if found.shape != (rows, *leaf.shape):
            raise Refused(f"episode {self._episodes - 1}: {leaf.name}: got the shape {list(found.shape)}; wanted "
                          f"{[rows, *leaf.shape]}")
        return found.astype(leaf.dtype, copy=False)


def _as_policy(leaf, actions):
    """Actions as policies choose them: elements that are bounded on both sides are in [-1, 1]."""
    low, high = bounds_of(leaf)
    if low is None:
        return actions
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, (actions - low) / (high - low) * 2 - 1, actions).astype(leaf.dtype)


def bounds_of(leaf):
    """The bounds of an action that is scaled, broadcastable to its shape; (None, None) for others."""
    if leaf.kind != "box" or leaf.dtype != np.float32 or not leaf.low:
        return None, None
    return [np.array([float(one) for one in bound]).reshape(leaf.shape if len(bound) > 1 else ())
            for bound in (leaf.low, leaf.high)]
