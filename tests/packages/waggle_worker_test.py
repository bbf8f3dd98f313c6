#!/usr/bin/env python3
"""Tests of the package waggle_worker, with folders in place of PyTorch and a script in place of its executable. [unit]"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "packages" / "wheels" / "waggle_worker"


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.site = pathlib.Path(folder.name, "site").resolve()
        package = self.site / "waggle_worker"
        shutil.copytree(SOURCE, package)
        (package / "_torch.py").write_text('TORCH = "2.15"\n')
        executable = package / "bin" / "waggle-worker"
        executable.parent.mkdir()
        executable.write_text('#!/bin/sh\necho "$@"; echo "libraries: $LD_LIBRARY_PATH"; exit 3\n')
        executable.chmod(0o755)

    def add_torch(self, site, version):
        (site / "torch" / "lib").mkdir(parents=True)
        (site / "torch" / "__init__.py").write_text("raise AssertionError('torch is imported')\n")
        information = site / f"torch-{version}.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")

    def start(self, *folders):
        environment = {**os.environ, "PYTHONPATH": ":".join(map(str, [self.site, *folders]))}
        environment.pop("LD_LIBRARY_PATH", None)
        # -S leaves out this machine's packages, which may include PyTorch.
        done = subprocess.run(
            [sys.executable, "-S", "-c", "import waggle_worker; waggle_worker.learner()", "--flag", "a b"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_it_becomes_the_program_with_its_arguments(self):
        self.add_torch(self.site, "2.15.3+cpu")
        # A script cannot see the program's name in its arguments; an executable can.
        self.assertEqual(self.start(), (3, "--flag a b\nlibraries: \n", ""))

    def test_torch_may_be_elsewhere(self):
        other = self.site.parent / "other"
        self.add_torch(other, "2.15.0")
        self.assertEqual(self.start(other), (3, f"--flag a b\nlibraries: {other}/torch/lib\n", ""))

    def test_another_version_is_refused(self):
        for version in ("2.14.1", "2.150.0", "3.15.0"):
            with self.subTest(version=version):
                site = self.site.parent / version
                self.add_torch(site, version)
                status, _, said = self.start(site)
                self.assertEqual(status, 1)
                self.assertEqual(said, f"waggle-learner: torch: got version {version}; wanted 2.15: "
                                       "pip install 'torch==2.15.*'\n")

    def test_a_missing_torch_is_named(self):
        status, _, said = self.start()
        self.assertEqual(status, 1)
        self.assertEqual(said, "waggle-learner: there is no package torch: pip install 'torch==2.15.*'\n")


if __name__ == "__main__":
    unittest.main()
