"""Data sets of Minari and D4RL as rows, and back."""

import contextlib
import importlib.util
import io
import json
import pathlib
import struct
import tempfile
import unittest

import numpy as np

from waggle_environment import _datasets
from waggle_environment._refused import Refused

_HAS_H5PY = importlib.util.find_spec("h5py") is not None


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


class DatasetTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def archive(self, **changes):
        np.savez(self.folder / "a.npz", **arrays(**changes))
        return self.folder / "a.npz"

    def refusal(self, source, drop_last=False):
        with self.assertRaises(Refused) as caught:
            converted(source, drop_last)
        return str(caught.exception)

    def test_arrays_become_episodes_whose_actions_are_scaled(self):
        spec, (observation, action, reward, discount, step_type) = converted(self.archive())
        self.assertEqual(spec["actions"][0]["low"], [-2.0])
        # The observation after the timeout is unknown: it is that of the last step, which is left out.
        self.assertEqual(step_type.tolist(), [0, 1, 1, 2, 0, 1, 1, 2])
        self.assertEqual(discount.tolist(), [1, 1, 0, 0, 1, 1, 1, 0])
        self.assertEqual(reward.tolist(), [0, 1, 2, 0, 3, 4, 5, 0])
        self.assertEqual(observation[:, 0].tolist(), [0, 2, 4, 4, 6, 8, 10, 12])
        np.testing.assert_allclose(action[:3, 0], np.linspace(-1, 1, 7)[:3], rtol=1e-6)

    def test_next_observations_keep_the_last_step(self):
        _, columns = converted(self.archive(next_observations=np.arange(14).reshape(7, 2) + 100.0))
        self.assertEqual(columns[-1].tolist(), [0, 1, 1, 2, 0, 1, 1, 1, 2])
        self.assertEqual(columns[0][3, 0], 104)
        self.assertEqual(columns[0][-1, 0], 112)

    def test_integers_are_choices(self):
        spec, columns = converted(self.archive(actions=np.arange(7) % 3, num_actions=np.array(5)))
        self.assertEqual(spec["actions"][0]["num_values"], [5])
        self.assertEqual(columns[1][:3].tolist(), [0, 1, 2])

    def test_what_is_missing_or_does_not_fit_is_refused(self):
        self.assertIn("is not there", self.refusal(self.folder / "b.npz"))
        self.assertIn("has no rewards", self.refusal(self.archive(rewards=None)))
        self.assertIn("got 6 rows; wanted 7", self.refusal(self.archive(terminals=np.zeros(6, bool))))
        self.assertIn("from action_low to action_high", self.refusal(self.archive(action_high=np.array([1]))))
        self.assertIn("have no end", self.refusal(self.archive(timeouts=None)))
        self.assertIn("data/main_data.hdf5", self.refusal(self.folder))

    def test_the_last_episode_may_be_left_out_if_it_has_no_end(self):
        _, columns = converted(self.archive(timeouts=None), drop_last=True)
        self.assertEqual(columns[-1].tolist(), [0, 1, 1, 2])

    @unittest.skipUnless(_HAS_H5PY, "needs h5py")
    def test_minari_folders_are_read_as_they_are_written(self):
        source = self.archive(next_observations=np.arange(14).reshape(7, 2) + 100.0)
        self.assertEqual(_datasets.main("import", str(source), str(self.folder / "rows")), 0)
        self.assertEqual(_datasets.main("export", str(self.folder / "rows"), str(self.folder / "minari")), 0)
        written, again = rows_of((self.folder / "rows").read_bytes()), converted(f"minari:{self.folder}/minari")
        self.assertEqual(written[0], again[0])
        for one, other in zip(written[1], again[1]):
            np.testing.assert_allclose(one, other, atol=1e-6)

    @unittest.skipUnless(_HAS_H5PY, "needs h5py")
    def test_an_episode_of_minari_without_an_end_is_refused(self):
        import h5py

        source = self.archive(next_observations=np.zeros((7, 2)))
        _datasets.main("import", str(source), str(self.folder / "rows"))
        _datasets.main("export", str(self.folder / "rows"), str(self.folder / "minari"))
        with h5py.File(self.folder / "minari" / "data" / "main_data.hdf5", "a") as file:
            file["episode_1"]["truncations"][-1] = False
        self.assertIn("episode_1: its last step", self.refusal(self.folder / "minari"))
        _, columns = converted(self.folder / "minari", drop_last=True)
        self.assertEqual(columns[-1].tolist(), [0, 1, 1, 2])

    def test_what_is_wrong_is_printed(self):
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            self.assertEqual(_datasets.main("import", "nowhere", str(self.folder / "rows")), 2)
        self.assertIn("nowhere: is not there", told.getvalue())


if __name__ == "__main__":
    unittest.main()
