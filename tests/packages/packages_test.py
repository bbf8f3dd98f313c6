#!/usr/bin/env python3
"""Installs the packages of dist into fresh Debian systems, uses them there, and removes them.

usage: packages_test.py [wheels | debs] [unittest's arguments]

Prints sizes and times, and compares the sizes with the limits in docs/install.md. Needs root, debootstrap, package sources of
apt and pip, and for Debian packages docker. If WAGGLE_TEST_WHEELS is set, pip first looks in that folder for the wheels of
torch and of its dependencies.
"""

import os
import pathlib
import re
import sys
import time
import unittest

import file_system  # This also makes the modules of tests/deploy known.
import engine
import systemd_container

ROOT = file_system.ROOT
DIST = ROOT / "dist"
MOST_WAGGLE_BYTES = 15_000_000
MOST_DEB_BYTES = 15_000_000  # Of waggle, and of the packages that it needs above a minimal Debian.
MOST_WORKER_SECONDS = 20  # The limit if torch is installed already.


def built(pattern):
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        raise unittest.SkipTest(f"dist has {len(found)} files {pattern}: build them with ./dev wheels and ./dev debs")
    return found[0]


def say(text):
    print(text, file=sys.stderr, flush=True)


class Timed:
    """Measures and prints the time of a block."""

    def __init__(self, what):
        self.what = what
        self.seconds = 0.0

    def __enter__(self):
        self.begun = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.begun
        say(f"{self.what}: {self.seconds:.1f} s")


class Wheels(unittest.TestCase):
    """One file system with Python and pip's own packages, and an environment in it."""

    @classmethod
    def setUpClass(cls):
        cls.wheel = built("waggle-*.whl")
        mounts = [DIST, ROOT / "python"]
        cls.wheels = os.environ.get("WAGGLE_TEST_WHEELS")
        if cls.wheels:
            mounts.append(pathlib.Path(cls.wheels).resolve())
        cls.machine = file_system.FileSystem("wheels", mounts, path="/venv/bin:/usr/bin:/bin")
        cls.machine.install("python3-venv")
        cls.machine.run("python3", "-m", "venv", "/venv")

    @classmethod
    def tearDownClass(cls):
        cls.machine.remove()

    def pip(self, *words, timeout=1800):
        links = [f"--find-links=/given/{pathlib.Path(self.wheels).name}"] if self.wheels else []
        return self.machine.run("pip", "install", "--quiet", *links, *words, timeout=timeout)

    def test_1_waggle_alone(self):
        say(f"{self.wheel.name}: {self.wheel.stat().st_size / 1e6:.1f} MB")
        self.assertLessEqual(self.wheel.stat().st_size, MOST_WAGGLE_BYTES)
        with Timed("pip install waggle"):
            self.pip("--no-index", f"/given/dist/{self.wheel.name}")
        self.assertIn("cartpole_ppo ", self.machine.run("waggle", "configs")[1])
        self.assertIn("algorithm:", self.machine.run("waggle", "configs", "cartpole_ppo")[1])
        self.machine.run("waggle", "check", "cartpole_ppo")
        self.assertRegex(self.machine.run("waggle-replay-server", "--version")[1], r"^waggle \d+\.\d+\.\d+$")
        libraries = set(re.findall(r"^\s*(\S+?)\.so", self.machine.run("ldd", "/venv/bin/waggle")[1], re.MULTILINE))
        self.assertLessEqual({pathlib.Path(name).name for name in libraries},
                             {"linux-vdso", "libc", "libm", "ld-linux-x86-64"})
        status, output = self.machine.run("waggle", "run", "cartpole_ppo", check=False)
        self.assertEqual(status, 1)
        self.assertIn("waggle-worker", output)
        self.assertTrue((self.machine.folder / "venv/share/man/man1/waggle.1.gz").is_file())
        script = "source /venv/share/bash-completion/completions/waggle; COMP_WORDS=(waggle ru) COMP_CWORD=1; _waggle"
        self.assertEqual(self.machine.run("bash", "-c", script + '; echo "${COMPREPLY[*]}"')[1], "run\n")

    def test_2_the_client_of_the_replay_server(self):
        # The client's packages are Debian's, because PyPI's newest versions change daily.
        self.machine.install("python3-grpcio", "python3-numpy", "python3-protobuf", "python3-xxhash", "python3-lz4",
                             "python3-zstandard")
        self.machine.shell("echo /usr/lib/python3/dist-packages >$(echo /venv/lib/python3*/site-packages)/debian.pth")
        output = self.machine.run("python3", "/given/python/tests/run.py", "--server", "/venv/bin/waggle-replay-server",
                                  "--installed")[1]
        say(output.splitlines()[-1])

    def test_3_training(self):
        worker = built("waggle_worker-*.whl")
        say(f"{worker.name}: {worker.stat().st_size / 1e6:.1f} MB")
        with Timed("pip install torch"):
            self.pip("--no-compile", "torch==2.15.*")
        with Timed("pip install waggle-worker") as installed:
            self.pip("--no-index", f"/given/dist/{worker.name}")
        self.assertLessEqual(installed.seconds, MOST_WORKER_SECONDS)
        with Timed("waggle run cartpole_ppo"):
            output = self.machine.run("waggle", "run", "cartpole_ppo", "--output-dir", "/run_of_test", "--no-plot")[1]
        self.assertIn("solved", output)
        evaluated = self.machine.run("waggle", "evaluate", "/run_of_test", "--episodes", "5")[1]
        say(evaluated.splitlines()[0])

    def test_4_nothing_is_left(self):
        self.machine.run("pip", "uninstall", "--yes", "--quiet", "waggle", "waggle-worker")
        self.assertEqual([name for name in self.machine.named("waggle") if not name.startswith("run_of_test")], [])


class Debs(unittest.TestCase):
    """One minimal Debian with systemd."""

    SERVICES = ["waggle-hub", "waggle-replay-server", "waggle-learner", "waggle-actor@1", "waggle-evaluator"]

    @classmethod
    def setUpClass(cls):
        cls.waggle = built("waggle_*.deb")
        cls.worker = built("waggle-worker_*.deb")
        missing = engine.what_is_missing()
        if missing is not None:
            raise unittest.SkipTest(missing)
        cls.machine = systemd_container.SystemdContainer("debs", [DIST])
        cls.machine.run("apt-get", "update", "-qq")

    @classmethod
    def tearDownClass(cls):
        cls.machine.remove()

    def install(self, deb):
        """Installs a package. Returns the number of downloaded bytes."""
        install = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", f"/given/dist/{deb.name}")
        uris = self.machine.run(*install, "--print-uris")
        sizes = [int(size) for size in re.findall(r"^'\S+' \S+ (\d+) \w+:", uris, re.MULTILINE)]
        size = deb.stat().st_size
        say(f"{deb.name}: {size / 1e6:.1f} MB, and {len(sizes)} packages of Debian, {sum(sizes) / 1e6:.1f} MB")
        with Timed(f"apt-get install {deb.name}"):
            self.machine.run(*install)
        return size + sum(sizes)

    def test_1_waggle_alone(self):
        self.assertLessEqual(self.install(self.waggle), MOST_DEB_BYTES)
        self.assertIn("cartpole_ppo ", self.machine.run("waggle", "configs"))
        self.machine.run("waggle", "check", "cartpole_ppo")
        status, output = self.machine.status("waggle", "run", "cartpole_ppo")
        self.assertEqual(status, 1)
        self.assertIn("waggle-worker", output)
        script = ". /usr/share/bash-completion/completions/waggle; COMP_WORDS=(waggle ru) COMP_CWORD=1; _waggle"
        self.assertEqual(self.machine.run("bash", "-c", script + '; echo "${COMPREPLY[*]}"').strip(), "run")
        self.machine.run("test", "-s", "/usr/share/man/man1/waggle.1.gz")
        # No service starts by itself.
        self.assertNotEqual(self.machine.status("systemctl", "is-active", "waggle-hub")[0], 0)

    def test_2_training(self):
        self.install(self.worker)
        with Timed("waggle run cartpole_ppo"):
            output = self.machine.run("waggle", "run", "cartpole_ppo", "--output-dir", "/tmp/run", "--no-plot")
        self.assertIn("solved", output)

    def test_3_services(self):
        names = self.machine.run("sh", "-c", "ls /usr/lib/systemd/system | grep ^waggle").split()
        self.assertEqual(len(names), 6)
        output = self.machine.run("systemd-analyze", "verify", "--man=no", *[name.replace("@", "@1") for name in names])
        self.assertEqual([line for line in output.splitlines() if "waggle" in line], [])
        self.machine.run("systemctl", "enable", "--now", *self.SERVICES)
        with Timed("an experiment of the services"):
            status, output = self.machine.status("waggle", "submit", "cartpole_ppo", "--watch", "--param-server",
                                                 "127.0.0.1:7000")
        if status != 0 or "solved" not in output:
            self.fail(output + self.machine.run("journalctl", "--no-pager", "--lines=100", "--unit=waggle-*"))
        owner = int(self.machine.run("stat", "--dereference", "--format=%u", "/var/lib/waggle/hub"))
        self.assertGreaterEqual(owner, 61184)  # The first of systemd's dynamic users.
        # A service that dies is started again, and its data is there.
        self.machine.run("systemctl", "kill", "--signal=KILL", "waggle-hub")
        with Timed("the hub is back"):
            self.assertIn("solved", self.until_it_answers("waggle", "list", "--param-server", "127.0.0.1:7000"))

    def until_it_answers(self, *words):
        for _ in range(100):
            status, output = self.machine.status(*words)
            if status == 0:
                return output
            time.sleep(0.2)
        self.fail(output)

    def test_4_nothing_is_left(self):
        self.machine.run("apt-get", "purge", "-y", "-qq", "waggle", "waggle-worker")
        self.assertEqual(self.machine.named("waggle"), [])


if __name__ == "__main__":
    SUITES = {"wheels": "Wheels", "debs": "Debs"}
    words = [SUITES.get(word, word) for word in sys.argv[1:]]
    unittest.main(argv=[sys.argv[0], *words], verbosity=2)
