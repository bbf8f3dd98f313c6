"""D4RL's arrays as rows."""

import io
import struct
import unittest

import numpy as np
from dataset_case import DatasetCase, converted, printed, spec_of

from waggle_environment._spaces import Leaf


class DatasetTest(DatasetCase):
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
        self.assertIn("got the shape [6]; wanted 7 rows", self.refusal(self.archive(terminals=np.zeros(6, bool))))
        self.assertIn("from action_low to action_high", self.refusal(self.archive(action_high=np.array([1]))))
        self.assertIn("have no end", self.refusal(self.archive(timeouts=None)))
        self.assertIn("data/main_data.hdf5", self.refusal(self.folder))

    def test_the_last_episode_may_be_left_out_if_it_has_no_end(self):
        _, columns = converted(self.archive(timeouts=None), drop_last=True)
        self.assertEqual(columns[-1].tolist(), [0, 1, 1, 2])

    def test_arrays_of_other_shapes_are_refused_by_their_keys(self):
        for key, value in (
            ("timeouts", np.zeros(6)), ("timeouts", np.zeros((7, 2))), ("timeouts", np.zeros(())),
            ("next_observations", np.zeros((6, 2))), ("next_observations", np.zeros((7, 3))),
            ("rewards", np.zeros((7, 2))), ("rewards", np.zeros(0)), ("rewards", np.float32(1)),
            ("actions", np.array(["a"] * 7)), ("observations", np.zeros(7, complex)),
            ("action_low", np.zeros(3)), ("action_low", np.array([2])),
        ):
            with self.subTest(key=key, shape=np.shape(value)):
                self.assertRegex(self.refusal(self.archive(**{key: value})), f"a.npz: {key}: got .*; wanted ")
        self.assertEqual(converted(self.archive(rewards=np.zeros((7, 1))))[1][-1].tolist(), [0, 1, 1, 2, 0, 1, 1, 2])

    def test_choices_that_are_none_are_refused(self):
        self.assertRegex(self.refusal(self.archive(actions=np.arange(7) - 1)), "a.npz: actions: got .*-1.*; wanted ")
        few = self.archive(actions=np.arange(7), num_actions=np.array(6))
        self.assertRegex(self.refusal(few), "a.npz: actions: got .*6; wanted ")
        several = self.archive(actions=np.arange(7), num_actions=np.array([6, 7]))
        self.assertRegex(self.refusal(several), "a.npz: num_actions: got .*; wanted ")

    def test_a_file_that_was_cut_off_is_refused(self):
        source = self.archive()
        whole = source.read_bytes()
        for count in (0, 10, len(whole) // 2, len(whole) - 5):
            source.write_bytes(whole[:count])
            status, told = printed("import", source, self.folder / "rows")
            self.assertEqual(status, 2)
            self.assertRegex(told, r"\A[^\n]*a.npz: got [^\n]*; wanted [^\n]*\n\Z")

    def test_blocks_are_limited_in_bytes(self):
        for frame, most in ((3 * 2**20, 5), (20 * 2**20, 1)):
            space = Leaf("observation", "box", np.dtype(np.uint8), (frame,), ("observation",))
            rows = self.rows(spec_of(space), {"observation": np.zeros((8, frame), np.uint8)}, steps=7)
            with open(rows, "rb") as file:
                file.readline()
                counts = []
                while count := struct.unpack("<q", file.read(8))[0]:
                    counts.append(count)
                    file.seek(count * (frame + 8 + 4 + 4 + 4), io.SEEK_CUR)
            self.assertEqual((max(counts), sum(counts)), (most, 8))

    def test_what_is_wrong_is_printed(self):
        status, told = printed("import", "nowhere", self.folder / "rows")
        self.assertEqual(status, 2)
        self.assertIn("nowhere: is not there", told)


if __name__ == "__main__":
    unittest.main()
