#!/usr/bin/env python3
"""Runs deploy/kubernetes/overlays/podman: every pod starts, is healthy and confined, trains an experiment, and ends by itself.

usage: kubernetes_podman.py [TEST …]      a TEST is a class or CLASS.METHOD of this file; by default all

Needs root, podman, kubectl, a container engine that builds the image, and the results of ./dev debs and ./dev build. If one
of them is missing it prints that and tests nothing.
"""

import json
import os
import shutil
import sys
import tempfile
import unittest

import experiments
import images
from cluster import Hub, await_that, free_port
from engine import run, what_is_missing
from overlays import KUBERNETES, with_actor_image
from podman import Podman

IMAGE = "localhost/waggle:dev"
USERS_ACTOR = "localhost/my-actor"
PORTS = {"hub": 7000, "replay": 7001, "learner": 7002, "actor": 7003, "evaluator": 7003, "gradient-reducer": 7004}
WORKERS = [name for name in PORTS if name != "hub"]
podman = None


def skip(why):
    print(f"kubernetes_podman: SKIPPED: {why}", file=sys.stderr)
    raise unittest.SkipTest(why)


def setUpModule():
    global podman
    for program in ("podman", "kubectl"):
        if shutil.which(program) is None:
            skip(f"there is no {program}")
    if os.geteuid() != 0:
        skip("only root may kill the processes of pods")
    # An existing image of the docker engine, instead of a new one.
    image = os.environ.get("WAGGLE_DEPLOY_IMAGE")
    if image is None:
        missing = what_is_missing()
        if missing is not None:
            skip(missing)
        images.build()
        image = images.RUNTIME
    podman = unittest.enterModuleContext(Podman())
    podman.load(image, IMAGE)
    try:
        podman.choose_runtime(IMAGE)
    except RuntimeError as error:
        skip(f"podman runs no pod here: {error}")


def container(name):
    return f"{name}-pod-0-{name}"


def rendered(kubernetes):
    return run("sh", "-c", f"kubectl kustomize '{kubernetes}/overlays/podman' 2>/dev/null")


class Pods(Hub):
    """with Pods() as pods: the overlay's pods, with the hub at a free port of this machine."""

    def __init__(self, manifests=None):
        """`manifests`: the rendered overlay, if it is a changed one."""
        self.port = free_port()
        self._manifests = (manifests or rendered(KUBERNETES)).replace("hostPort: 7000", f"hostPort: {self.port}")

    def __enter__(self):
        podman.play(self._manifests)
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            for name in PORTS:
                print(name, podman("logs", "--tail", "20", container(name), check=False), file=sys.stderr)
        podman.down()
        podman("volume", "prune", "--force")

    def play_again(self):
        podman.down()
        podman.play(self._manifests)

    def await_health(self, *names):
        for name in names or PORTS:
            await_that(lambda name=name: podman.succeeds("healthcheck", "run", container(name)), f"{name} is healthy")

    def signal(self, name, signal):
        podman("kill", "--signal", signal, container(name))

    def kill(self, name):
        """kill -9 of the process, as the kernel does if memory runs out. podman kill would prevent a restart."""
        process = self.inspect(name)["State"]["Pid"]
        run("kill", "-KILL", process)
        await_that(lambda: self.inspect(name)["State"]["Running"] and self.inspect(name)["State"]["Pid"] != process,
                   f"{name} is started again")

    def stop(self, name):
        """SIGTERM, and SIGKILL after ten seconds. Returns the exit status: 137 if it did not end by itself."""
        podman("stop", "--time", "10", container(name))
        return self.inspect(name)["State"]["ExitCode"]

    def inspect(self, name):
        return json.loads(podman("inspect", container(name)))[0]

    def outputs(self):
        return podman("exec", container("hub"), "ls", "/experiments").split()


class Start(unittest.TestCase):
    def test_pods_become_healthy_are_confined_come_back_and_end_by_themselves(self):
        with Pods() as pods:
            pods.await_health()
            for name in PORTS:
                with self.subTest("confined", name=name):
                    self.assertEqual(podman("exec", container(name), "id", "-u"), "10001")
                    self.assertIn("Read-only file system",
                                  podman("exec", container(name), "touch", "/usr/file", check=False))
                    podman("exec", container(name), "touch", "/tmp/file")
            with self.subTest("the hub is found from this machine"):
                pods.waggle("health", f"127.0.0.1:{pods.port}")
            with self.subTest("a process that hangs is not healthy"):
                pods.signal("replay", "STOP")
                self.assertFalse(podman.succeeds("healthcheck", "run", container("replay")))
                pods.signal("replay", "CONT")
                pods.await_health("replay")
            with self.subTest("a worker is healthy without the hub"):
                self.assertEqual(pods.stop("hub"), 0)
                pods.await_health(*WORKERS)
                podman("start", container("hub"))
                pods.await_health()
            for name in PORTS:
                with self.subTest("killed", name=name):
                    pods.kill(name)
                    pods.await_health(name)
            for name in [*WORKERS, "hub"]:
                with self.subTest("stopped", name=name):
                    self.assertEqual(pods.stop(name), 0)


class Experiments(unittest.TestCase):
    def test_an_experiment_is_solved_outlives_the_pods_and_leaves_nothing_once_deleted(self):
        with tempfile.TemporaryDirectory() as folder, Pods() as pods:
            pods.await_health()
            file = experiments.patient(folder, "cartpole_apex_dqn")
            experiment = pods.submit(file)
            pods.await_outcome(experiment, "solved", seconds=1200)
            # The outputs of the hub and of the learner are in one folder.
            found = podman("exec", container("hub"), "ls", f"/experiments/{experiment}").split()
            self.assertLessEqual({"metrics.csv", "checkpoints", "best"}, set(found))
            pods.play_again()
            pods.await_health()
            self.assertEqual(pods.status(experiment)["outcome"], "solved")
            pods.waggle("delete", experiment)
            await_that(lambda: pods.outputs() == [], "nothing is left of it")


class PythonEnvironments(unittest.TestCase):
    def test_actors_of_a_users_image_train_on_gymnasium(self):
        if "WAGGLE_DEPLOY_IMAGE" in os.environ:
            self.skipTest("WAGGLE_DEPLOY_IMAGE may be of other executables than those that actors need")
        images.build_my_game()
        podman.load(images.USERS_ACTOR, f"{USERS_ACTOR}:1")
        with with_actor_image(f'  - {{name: waggle-actor, newName: {USERS_ACTOR}, newTag: "1"}}') as kubernetes:
            manifests = rendered(kubernetes)
        with tempfile.TemporaryDirectory() as folder, Pods(manifests) as pods:
            pods.await_health()
            pods.await_outcome(pods.submit(experiments.gymnasium(folder)), "solved", seconds=1200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
