"""Data sets in temporary folders, and their rows."""

import contextlib
import io
import json
import pathlib
import struct
import tempfile
import unittest

import numpy as np

from waggle_environment import _datasets, _episodes
from waggle_environment._refused import Refused
from waggle_environment._spaces import Leaf, Spec, reward_leaf


def rows_of(data):
    """The spec of converted rows, and all their columns."""
    file = io.BytesIO(data)
    spec = json.loads(file.readline())["spec"]
    leaves = [*spec["observations"], *spec["actions"]]
    kinds = [(np.dtype(leaf["dtype"]), tuple(leaf["shape"])) for leaf in leaves]
    kinds += [(np.dtype(np.float32), ()), (np.dtype(np.float32), ()), (np.dtype(np.int32), ())]
    columns = [[] for _ in kinds]
    while count := struct.unpack("<q", file.read(8))[0]:
        for column, (dtype, shape) in zip(columns, kinds):
            values = np.frombuffer(file.read(count * dtype.itemsize * int(np.prod(shape, dtype=int))), dtype)
            column.append(values.reshape((count, *shape)))
    assert not file.read()
    return spec, [np.concatenate(column) for column in columns]


def converted(source, drop_last=False):
    out = io.BytesIO()
    _datasets.convert(str(source), drop_last, out)
    return rows_of(out.getvalue())


def printed(verb, source, out):
    """The exit status and what is printed."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        status = _datasets.main(verb, str(source), str(out))
    return status, told.getvalue()


def spec_of(*observations, rewards=(reward_leaf(),)):
    action = Leaf("action", "discrete", np.dtype(np.int64), (), ("action",), [4])
    return Spec(list(observations), [action], list(rewards), max_episode_steps=9)


def arrays(steps=7, **changes):
    """Three steps that end in a terminal state, then four that are cut off."""
    made = {
        "observations": np.arange(2 * steps, dtype=np.float64).reshape(steps, 2),
        "actions": np.linspace(-2, 2, steps, dtype=np.float32)[:, None],
        "rewards": np.arange(steps, dtype=np.float64),
        "terminals": np.arange(steps) == 2,
        "timeouts": np.arange(steps) == 6,
        "action_low": np.array([-2]),
        "action_high": np.array([2]),
    }
    made.update(changes)
    return {key: value for key, value in made.items() if value is not None}


class DatasetCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def archive(self, **changes):
        np.savez(self.folder / "a.npz", **arrays(**changes))
        return self.folder / "a.npz"

    def rows(self, spec, observations, steps=3):
        """A file with one episode of these observations."""
        with open(self.folder / "rows", "wb") as file:
            writer = _episodes.Writer(file, "Grid-v0", spec)
            if observations:
                writer.add(observations, {"action": np.arange(steps) % 4}, np.ones(steps), True)
            writer.end()
        return self.folder / "rows"

    def refusal(self, source, drop_last=False):
        with self.assertRaises(Refused) as caught:
            converted(source, drop_last)
        return str(caught.exception)
