"""Folders of Minari as rows, and back."""

import importlib.util
import json
import pathlib
import shutil
import unittest

import numpy as np
from dataset_case import DatasetCase, converted, printed, rows_of, spec_of

from waggle_environment import _datasets
from waggle_environment._spaces import Leaf, reward_leaf


def cells(name="observation"):
    return Leaf(name, "discrete", np.dtype(np.int64), (), (name,), [16])


def masks(name="action_mask"):
    return Leaf(name, "multi-binary", np.dtype(bool), (4,), (name,))


def layout(file):
    """The names, element types and ranks of all arrays of an open HDF5 file, and the names of all attributes."""
    found = {}
    file.visititems(lambda name, item: found.update({name: (sorted(item.attrs), str(getattr(item, "dtype", "")),
                                                            len(getattr(item, "shape", ())))}))
    return found


@unittest.skipUnless(importlib.util.find_spec("h5py"), "needs h5py")
class MinariTest(DatasetCase):
    def minari(self):
        """A data set that Minari wrote: see data/write_minari.py."""
        shutil.unpack_archive(pathlib.Path(__file__).parent / "data" / "minari.zip", self.folder / "tiny")
        return self.folder / "tiny"

    def test_rows_of_a_folder_by_minari_itself_are_known(self):
        spec, columns = converted(self.minari())
        self.assertEqual({leaf["name"]: leaf["kind"] for leaf in spec["observations"]},
                         {"observation/mode": "multi-discrete", "observation/place/0": "box",
                          "observation/place/1": "discrete", "observation/speed": "box"})
        self.assertEqual(spec["max_episode_steps"], 500)
        self.assertEqual((spec["actions"][0]["low"], spec["actions"][0]["high"]), ([-2, 0], [2, 1]))
        names = [leaf["name"] for leaf in [*spec["observations"], *spec["actions"]]]
        rows = {name: column.tolist() for name, column in zip([*names, "reward", "discount", "step_type"], columns)}
        self.assertEqual(rows, {
            "observation/mode": [[0, 0], [1, 1], [0, 2], [1, 0], [0, 0], [1, 1], [0, 2]],
            "observation/place/0": [[0, 0], [1, 0.25], [2, 0.5], [3, 0.75], [0, 1], [1, 1.25], [2, 1.5]],
            "observation/place/1": [0, 1, 2, 0, 0, 1, 2],
            "observation/speed": [0, -0.5, -1, -1.5, 0, -0.5, -1],
            "action": [[-1, -1], [0, 0], [1, 1], [0, 0], [-1, -1], [1, 1], [0, 0]],
            "reward": [0, 1, 2, 0, 1, 2, 0],
            "discount": [1, 1, 0, 0, 1, 1, 0],
            "step_type": [0, 1, 1, 2, 0, 1, 2],
        })

    def test_folders_are_written_in_the_layout_of_minari_itself(self):
        import h5py

        theirs, ours = self.minari(), self.folder / "ours"
        self.assertEqual(printed("import", theirs, self.folder / "rows"), (0, ""))
        self.assertEqual(printed("export", self.folder / "rows", ours), (0, ""))
        with (h5py.File(theirs / "data" / "main_data.hdf5") as their_file,
              h5py.File(ours / "data" / "main_data.hdf5") as our_file):
            wanted = {name.replace("_index_", ""): told for name, told in layout(their_file).items()
                      if "infos" not in name}  # Tuples become mappings, and `infos` are left out.
            # Waggle narrows float64.
            wanted.update({f"episode_{i}/observations/speed": ([], "float32", 1) for i in (0, 1)})
            self.assertEqual(layout(our_file), wanted)
        their_facts, our_facts = [json.loads((one / "data" / "metadata.json").read_text()) for one in (theirs, ours)]
        self.assertEqual(set(their_facts) - {"dataset_size"}, set(our_facts))
        for key in ("total_episodes", "total_steps", "data_format", "action_space"):
            self.assertEqual(our_facts[key], their_facts[key])
        self.assertEqual(set(json.loads(their_facts["env_spec"])), set(json.loads(our_facts["env_spec"])))
        self.assertFalse(our_facts["jpeg_encoding"])  # Without it Minari reads pictures as JPEG.

    def test_masks_are_written_beside_the_observation_and_read_again(self):
        shown = {"observation": np.array([1, 2, 3, 15]), "action_mask": np.arange(16).reshape(4, 4) % 3 > 0}
        for parts in (("observation",), ("observation/cell", "observation/goal")):
            with self.subTest(parts=parts):
                found = {**dict.fromkeys(parts, shown["observation"]), "action_mask": shown["action_mask"]}
                rows = self.rows(spec_of(*map(cells, parts), masks()), found)
                folder = self.folder / str(len(parts))
                self.assertEqual(printed("export", rows, folder), (0, ""))
                written, again = rows_of(rows.read_bytes()), converted(folder)
                self.assertEqual(again[0]["observations"], written[0]["observations"])
                for one, other in zip(written[1], again[1]):
                    np.testing.assert_array_equal(one, other)

    def test_leaves_keep_their_order(self):
        parts = ("observation/state", "observation/achieved", "observation/goal")  # Not that of the alphabet.
        rows = self.rows(spec_of(*map(cells, parts)), {part: np.arange(4) + i for i, part in enumerate(parts)})
        self.assertEqual(printed("export", rows, self.folder / "minari"), (0, ""))
        self.assertEqual(tuple(leaf["name"] for leaf in converted(self.folder / "minari")[0]["observations"]), parts)

    def test_an_end_within_an_episode_is_refused(self):
        import h5py

        for flags in ("terminations", "truncations"):
            with self.subTest(flags=flags):
                folder = self.folder / flags
                rows = self.rows(spec_of(cells()), {"observation": np.arange(4)})
                self.assertEqual(printed("export", rows, folder), (0, ""))
                with h5py.File(folder / "data" / "main_data.hdf5", "r+") as file:
                    file["episode_0"][flags][1] = True
                self.assertIn(f"episode_0: {flags}: got an end at step 1 of 3", self.refusal(folder))

    def test_agents_keep_their_own_observations(self):
        import h5py

        names = ("a/observation", "b/observation")
        rows = self.rows(spec_of(*map(cells, names)), {name: np.arange(4) + i for i, name in enumerate(names)})
        self.assertEqual(printed("export", rows, self.folder / "minari"), (0, ""))
        with h5py.File(self.folder / "minari" / "data" / "main_data.hdf5") as file:
            self.assertEqual(file["episode_0/observations/b/observation"][()].tolist(), [1, 2, 3, 4])

    def test_integers_without_bounds_have_those_of_their_type(self):
        leaf = Leaf("observation", "box", np.dtype(np.uint8), (2,), ("observation",))
        rows = self.rows(spec_of(leaf), {"observation": np.arange(8, dtype=np.uint8).reshape(4, 2)})
        self.assertEqual(printed("export", rows, self.folder / "minari"), (0, ""))
        spec, columns = converted(self.folder / "minari")
        self.assertEqual((spec["observations"][0]["low"], spec["observations"][0]["high"]), ([0], [255]))
        self.assertEqual(columns[0].tolist(), [[0, 1], [2, 3], [4, 5], [6, 7]])

    def test_what_cannot_be_exported_is_refused_before_there_are_rows(self):
        two = self.rows(spec_of(cells(), rewards=[reward_leaf(shape=(2,))]), None)
        for verb in ("check-export", "export"):
            with self.subTest(verb=verb):
                status, told = printed(verb, two, self.folder / "new" / "minari")
                self.assertEqual(status, 2)
                self.assertRegex(told, "rewards: got .*; wanted ")
                self.assertEqual(list(self.folder.iterdir()), [two])
        rows = self.rows(spec_of(cells()), None)
        (self.folder / "taken").mkdir()
        for verb in ("check-export", "export"):
            for folder in (self.folder / "taken", rows / "inside"):
                with self.subTest(verb=verb, folder=folder):
                    status, told = printed(verb, rows, folder)
                    self.assertEqual(status, 2)
                    self.assertIn(f"{folder}: ", told)
        self.assertEqual(printed("check-export", rows, self.folder / "new" / "minari"), (0, ""))
        self.assertCountEqual(self.folder.iterdir(), [rows, self.folder / "taken"])

    def test_a_failed_export_leaves_nothing_behind(self):
        rows = self.rows(spec_of(cells()), {"observation": np.arange(4)})
        rows.write_bytes(rows.read_bytes()[:-10])
        with self.assertRaises(ValueError):
            _datasets.main("export", str(rows), str(self.folder / "new" / "minari"))
        self.assertEqual(list(self.folder.iterdir()), [rows])
        whole = self.rows(spec_of(cells()), {"observation": np.arange(4)})
        self.assertEqual(printed("export", whole, self.folder / "new" / "minari"), (0, ""))
        self.assertEqual([one.name for one in (self.folder / "new").iterdir()], ["minari"])

    def test_a_malformed_folder_of_minari_is_refused(self):
        import h5py

        def change(name, value):
            def changed(file):
                del file[f"episode_1/{name}"]
                if value is not None:
                    file[f"episode_1/{name}"] = value
            return changed

        for made in (change("terminations", np.zeros(3, bool)), change("truncations", None),
                     change("rewards", np.zeros((2, 2))), change("observations/speed", np.zeros(5)),
                     change("observations/place", np.zeros(3)), change("actions", np.array([b"a", b"b"]))):
            folder = self.minari()
            with h5py.File(folder / "data" / "main_data.hdf5", "a") as file:
                made(file)
            self.assertRegex(self.refusal(folder), f"{folder}: .*got .*; wanted ")
            shutil.rmtree(folder)
        folder = self.minari()
        for facts in ("[]", "{", json.dumps({"observation_space": "3"})):
            (folder / "data" / "metadata.json").write_text(facts)
            self.assertRegex(self.refusal(folder), f"{folder}: .*; wanted ")

    def test_minari_folders_are_read_as_they_are_written(self):
        source = self.archive(next_observations=np.arange(14).reshape(7, 2) + 100.0)
        self.assertEqual(_datasets.main("import", str(source), str(self.folder / "rows")), 0)
        self.assertEqual(_datasets.main("export", str(self.folder / "rows"), str(self.folder / "minari")), 0)
        written, again = rows_of((self.folder / "rows").read_bytes()), converted(f"minari:{self.folder}/minari")
        self.assertEqual(written[0], again[0])
        for one, other in zip(written[1], again[1]):
            np.testing.assert_allclose(one, other, atol=1e-6)

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


if __name__ == "__main__":
    unittest.main()
