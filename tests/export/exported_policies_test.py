#!/usr/bin/env python3
"""Compares exported policies, run by onnxruntime and by PyTorch, with Waggle's own greedy policy.

usage: exported_policies_test.py policy_export_test [FOLDER]

The program policy_export_test writes cases into FOLDER, by default a temporary folder: exported policies, and the inputs and
outputs of the C++ policy. The test prints a table with the largest differences of the shipped experiments. Numbers may differ
by TOLERANCE, times the largest absolute number of their array if that is above 1. Choices must be equal, unless their values
differ by less than that.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import waggle  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

TOLERANCE = 1e-5
PROGRAM, FOLDER = None, None


class Case:
    """An exported policy, and the inputs and outputs of the C++ policy: arrays [steps, lanes, …] by name."""

    def __init__(self, path):
        self.path = path
        facts = json.loads(path.with_suffix(".json").read_text())
        data = path.with_suffix(".bin").read_bytes()
        self.algorithm = facts["algorithm"]
        self.arrays = {
            array["name"]: np.frombuffer(data, array["dtype"], int(np.prod(array["shape"])), array["offset"]).reshape(
                array["shape"]
            )
            for array in facts["arrays"]
        }
        self.first = self.arrays.pop("first")

    def play(self, run, inputs, state_size):
        """All outputs, stacked by step. `run` maps inputs to outputs; lanes' states begin anew as in C++."""
        steps = []
        state = np.zeros((self.first.shape[1], state_size), np.float32)
        for step, first in enumerate(self.first):
            feeds = {name: self.arrays[name][step] for name in inputs if name != "state"}
            if state_size:
                feeds["state"] = np.where(first[:, None], 0, state).astype(np.float32)
            outputs = run(feeds)
            state = outputs.get("next_state")
            steps.append(outputs)
        return {name: np.stack([outputs[name] for outputs in steps]) for name in steps[0]}


def difference(got, wanted):
    """The largest difference, as a share of the largest number if that is above 1."""
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    return float(np.max(np.abs(got - wanted), initial=0) / np.max(np.abs(wanted), initial=1))


class Comparison(unittest.TestCase):
    def compare(self, case, policy, got):
        """The largest difference from C++, over all outputs that both have."""
        worst = 0
        for leaf in policy.actions:
            mine, theirs = got[leaf.name], case.arrays[leaf.name]
            self.assertEqual((mine.dtype, mine.shape), (theirs.dtype, theirs.shape), leaf.name)
            if leaf.kind == "box":
                worst = max(worst, difference(mine, theirs))
            else:
                different = mine != theirs
                if different.any():
                    self.assertTrue(self.tied(case, leaf, got, different), f"{case.path}: {leaf.name}")
        for name in set(got) & set(case.arrays) - {leaf.name for leaf in policy.actions}:
            self.assertEqual(got[name].shape, case.arrays[name].shape, name)
            worst = max(worst, difference(got[name], case.arrays[name]))
        return worst

    def tied(self, case, leaf, got, different):
        """True if in all rows that differ the two best choices are equally good. For a single discrete action."""
        prefix = f"{leaf.agent}/" if leaf.agent else ""
        numbers = got.get(prefix + "q", got.get(prefix + "logits"))
        if leaf.kind != "discrete" or numbers is None or numbers.shape[-1] != leaf.num_values[0]:
            return False
        best = np.sort(numbers[different], -1)[:, -2:]
        return difference(best[:, 0], best[:, 1]) <= TOLERANCE

    def check(self, group):
        cases = sorted((FOLDER / group).glob("*.onnx"))
        self.assertTrue(cases)
        rows = []
        for path in cases:
            with self.subTest(path.stem):
                case = Case(path)
                onnx.checker.check_model(str(path), full_check=True)
                policy = waggle.load(path)
                session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
                names = [value.name for value in session.get_outputs()]
                inputs = [value.name for value in session.get_inputs()]
                ort = case.play(lambda feeds: dict(zip(names, session.run(names, feeds))), inputs, policy.state_size)
                by_ort = self.compare(case, policy, ort)
                by_torch = None
                if torch is not None:
                    by_torch = self.compare(case, policy, self.by_torch(case, policy, inputs))
                    self.assertLessEqual(by_torch, TOLERANCE)
                self.assertLessEqual(by_ort, TOLERANCE)
                rows.append((path.stem, case.algorithm, by_ort, by_torch))
        return rows

    def by_torch(self, case, policy, inputs):
        module = policy.torch()

        def run(feeds):
            with torch.no_grad():
                outputs = module({name: as_tensor(array) for name, array in feeds.items()})
            return {name: as_array(value) for name, value in outputs.items()}

        return case.play(run, inputs, policy.state_size)

    def test_policies_of_shipped_experiments_do_what_waggle_does(self):
        print("| experiment | algorithm | onnxruntime | PyTorch |\n|---|---|---|---|")
        for name, algorithm, by_ort, by_torch in self.check("shipped"):
            told = "" if by_torch is None else f"{by_torch:.1e}"
            print(f"| `{name}` | `{algorithm}` | {by_ort:.1e} | {told} |")

    def test_policies_of_all_algorithms_in_all_kinds_of_environments_do_what_waggle_does(self):
        self.check("kinds")

    def test_transforms_of_single_rows_are_those_of_waggle(self):
        self.check("transforms")

    def test_all_layers_do_what_waggle_does(self):
        self.check("layers")


def as_tensor(array):
    """The array as a tensor. Does not use PyTorch's NumPy interface, which may be built for another NumPy."""
    kinds = {"float32": torch.float32, "uint8": torch.uint8, "int64": torch.int64, "bool": torch.bool,
             "int32": torch.int32, "float64": torch.float64}
    array = np.ascontiguousarray(array)
    return torch.frombuffer(bytearray(array.tobytes()), dtype=kinds[array.dtype.name]).reshape(array.shape)


def as_array(tensor):
    return np.array(tensor.tolist(), dtype=str(tensor.dtype).replace("torch.", "")).reshape(tuple(tensor.shape))


def main():
    global PROGRAM, FOLDER
    PROGRAM = sys.argv[1]
    with tempfile.TemporaryDirectory() as temporary:
        FOLDER = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        subprocess.run([PROGRAM, "[policy_cases]"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "WAGGLE_POLICY_CASES": str(FOLDER)})
        if torch is None:
            print("PyTorch is not there: policy.torch() is not tested")
        unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
