#!/usr/bin/env python3
"""Tests of the Python package waggle, and of the script in docs/export.md.

usage: python_policies_test.py policy_export_test FOLDER_OF_WAGGLE

The program writes policies; `waggle`, in the other folder, exports a run's.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/tools")]
import extract_code  # noqa: E402
import waggle  # noqa: E402
from waggle import _spaces  # noqa: E402

try:
    import gymnasium
except ImportError:
    gymnasium = None

try:
    import torch
except ImportError:
    torch = None

FOLDER, PROGRAMS = None, None


def shipped(name):
    return waggle.load(FOLDER / "shipped" / f"{name}.onnx")


def kind(name):
    return waggle.load(FOLDER / "kinds" / f"{name}.onnx")


class Acting(unittest.TestCase):
    def test_an_array_gives_an_action_and_a_batch_gives_as_many(self):
        policy = shipped("cartpole_ppo")
        batch = np.random.default_rng(1).normal(size=(5, 4))
        actions, state = policy.act(batch)
        self.assertIsNone(state)
        self.assertEqual((actions.shape, actions.dtype), ((5,), np.int64))
        for observation, action in zip(batch, actions):
            self.assertEqual(policy.act(observation)[0], action)

    def test_real_actions_stay_within_their_bounds(self):
        policy = shipped("pendulum_ppo")
        actions, _ = policy.act(100 * np.random.default_rng(1).normal(size=(200, 3)))
        self.assertEqual((actions.shape, actions.dtype), ((200, 1), np.float32))
        self.assertEqual((actions.min(), actions.max()), (-2, 2))

    def test_a_dict_of_spaces_is_taken_as_gymnasium_gives_it(self):
        policy = shipped("warehouse_ppo")
        action, _ = policy.act({"place": np.zeros(2, np.float32), "shelf": 3})
        self.assertEqual(action.shape, (2,))
        self.assertTrue(((0 <= action) & (action < 3)).all())

    def test_agents_have_their_own_parts(self):
        policy = shipped("mpe_spread_ippo")
        action, _ = policy.act({agent: np.ones(12) for agent in ("agent_0", "agent_1")})
        self.assertEqual(set(action), {"agent_0", "agent_1"})

    def test_a_memory_passes_from_call_to_call_in_each_row_of_a_batch(self):
        policy = shipped("memory_cue_r2d2")
        observations = np.random.default_rng(1).normal(size=(3, 2, *policy.observations[0].shape))
        state = None
        lanes = [None, None]
        for step in range(3):
            if step == 2:  # The second lane begins an episode.
                state[1] = 0
                lanes[1] = None
            _, state = policy.act(observations[step], state)
            self.assertEqual(state.shape, (2, policy.state_size))
            for lane in range(2):
                _, lanes[lane] = policy.act(observations[step][lane], lanes[lane])
                np.testing.assert_allclose(lanes[lane], state[lane], atol=1e-6)

    def test_masks_forbid_choices_and_without_one_all_are_legal(self):
        policy = kind("ppo-TinyMasked-none")
        observation = np.random.default_rng(1).normal(size=(50, *policy.observations[0].shape))
        free, _ = policy.act(observation)
        for choice in range(3):
            mask = np.arange(3) == choice
            actions, _ = policy.act(observation, mask=np.broadcast_to(mask, (50, 3)))
            self.assertTrue((actions == choice).all())
            inside = {"observation": observation[0], "action_mask": mask.astype(np.int8)}
            self.assertEqual(policy.act(inside)[0], choice)
        every, _ = policy.act(observation, mask=np.ones((50, 3), bool))
        np.testing.assert_array_equal(free, every)

    def test_wrong_observations_are_refused_by_name(self):
        policy = shipped("cartpole_ppo")
        for wrong in (np.zeros(3), np.zeros((2, 3)), {"other": np.zeros(4)}, np.zeros(4, complex)):
            with self.assertRaisesRegex(ValueError, "observation"):
                policy.act(wrong)
        with self.assertRaisesRegex(ValueError, "shelf"):
            shipped("warehouse_ppo").act({"place": np.zeros(2)})
        with self.assertRaisesRegex(ValueError, "shelf"):
            shipped("warehouse_ppo").act({"place": np.zeros(2), "shelf": 4})
        with self.assertRaisesRegex(ValueError, "state"):
            recurrent = shipped("memory_cue_r2d2")
            recurrent.act(np.zeros((2, *recurrent.observations[0].shape), np.float32), np.zeros((3, recurrent.state_size)))

    def test_numbers_of_choices_begin_where_the_environments_do(self):
        leaf = _spaces.Leaf({"name": "observation", "kind": "multi-discrete", "dtype": "int64", "shape": [2],
                             "num_values": [3, 4], "start": [1, -1]})
        np.testing.assert_array_equal(leaf.array([1, 2]), [0, 3])
        with self.assertRaises(ValueError):
            leaf.array([0, 0])
        single = _spaces.Leaf({"name": "observation", "kind": "discrete", "dtype": "int64", "shape": [],
                               "num_values": [3], "start": [5]})
        np.testing.assert_array_equal(single.array([5, 7]), [0, 2])

    def test_tuples_of_actions_are_tuples(self):
        leaves = [_spaces.Leaf({"name": name, "kind": "box", "dtype": "float32", "shape": []})
                  for name in ("action/0", "action/1/arm", "action/1/leg")]
        self.assertEqual(_spaces.join(zip(leaves, (1, 2, 3))), (1, {"arm": 2, "leg": 3}))

    @unittest.skipUnless(gymnasium, "gymnasium is not there")
    def test_a_policy_plays_a_vector_environment(self):
        environments = gymnasium.make_vec("CartPole-v1", num_envs=3)
        policy = shipped("cartpole_apex_dqn")
        observation, _ = environments.reset(seed=1)
        for _ in range(20):
            action, _ = policy.act(observation)
            observation, *_ = environments.step(action)


class Loading(unittest.TestCase):
    def setUp(self):
        self.path = os.environ["PATH"]

    def tearDown(self):
        os.environ["PATH"] = self.path

    def test_a_runs_folder_is_exported_once_until_its_weights_are_newer(self):
        run = FOLDER / "run"
        os.environ["PATH"] = ""
        with self.assertRaises(FileNotFoundError):
            waggle.load(run)
        os.environ["PATH"] = PROGRAMS + os.pathsep + self.path
        policy = waggle.load(run)
        self.assertEqual(policy.metadata["weights_version"], "300")
        written = (run / "policy.onnx").stat().st_mtime_ns
        waggle.load(run)
        self.assertEqual((run / "policy.onnx").stat().st_mtime_ns, written)
        newer = written + 10**9
        for file in run.rglob("checkpoint.safetensors"):
            os.utime(file, ns=(newer, newer))
        waggle.load(run)
        self.assertNotEqual((run / "policy.onnx").stat().st_mtime_ns, written)

    def test_other_paths_are_refused(self):
        with self.assertRaises(FileNotFoundError):
            waggle.load(FOLDER / "missing")
        os.environ["PATH"] = PROGRAMS + os.pathsep + self.path
        with tempfile.TemporaryDirectory() as empty, self.assertRaisesRegex(RuntimeError, "saved weights|empty"):
            waggle.load(empty)

    def test_the_package_is_imported_without_onnxruntime_and_torch(self):
        code = "import sys; sys.modules['onnxruntime'] = sys.modules['torch'] = None; import waggle; waggle.load"
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


class Torch(unittest.TestCase):
    @unittest.skipUnless(torch, "PyTorch is not there")
    def test_parameters_have_their_names_of_the_checkpoint_and_can_be_trained(self):
        file = next((FOLDER / "run/best").rglob("checkpoint.safetensors"))
        with open(file, "rb") as checkpoint:
            saved = json.loads(checkpoint.read(int.from_bytes(checkpoint.read(8), "little")))
        module = shipped("cartpole_ppo").torch()
        parameters = dict(module.named_parameters())
        self.assertIn("torso.0.linear1.weight", parameters)
        for name, parameter in parameters.items():
            self.assertEqual(list(parameter.shape), saved[name]["shape"])
        module({"observation": torch.ones(3, 4)})["logits"][:, 0].sum().backward()
        self.assertTrue(all(parameter.grad is not None for parameter in parameters.values()))

    @unittest.skipUnless(torch, "PyTorch is not there")
    def test_statistics_are_no_parameters(self):
        module = waggle.load(FOLDER / "layers/normalizer.onnx").torch()
        self.assertIn("normalizers.observation.mean", dict(module.named_buffers()))
        self.assertNotIn("normalizers.observation.mean", dict(module.named_parameters()))


class Documentation(unittest.TestCase):
    @unittest.skipUnless(gymnasium, "gymnasium is not there")
    def test_the_script_plays_with_onnxruntime_alone(self):
        page = ROOT / "docs/export.md"
        code = extract_code.code_of(page, "play.py")
        self.assertLessEqual(code.count("\n"), 15)
        played = subprocess.run([sys.executable, "-c", code, str(FOLDER / "shipped/gymnasium_cartpole_ppo.onnx")],
                                check=True, capture_output=True, text=True)
        self.assertGreaterEqual(float(played.stdout), 8)


def main():
    global FOLDER, PROGRAMS
    PROGRAMS = sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = pathlib.Path(folder)
        subprocess.run([sys.argv[1], "[policy_cases]"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "WAGGLE_POLICY_CASES": folder})
        unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
