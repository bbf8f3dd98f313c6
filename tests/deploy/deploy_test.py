#!/usr/bin/env python3
"""Builds the images of deploy/, starts deploy/compose.yaml with them, runs experiments on it and kills its processes.

usage: deploy_test.py [TEST …]      a TEST is a class or CLASS.METHOD of this file; by default all

Needs a container engine, docker compose or docker-compose, and the results of ./dev debs and ./dev build. Without an engine
it prints that and tests nothing. Containers, networks and volumes are removed afterwards; images stay, for the next time.
"""

import contextlib
import json
import tempfile
import unittest
import urllib.request

import experiments
import images
from cluster import SERVICES, Cluster, await_that, timed
from engine import run
from watcher import Watcher, problems


def setUpModule():
    images.build_or_skip("deploy_test")


def with_cluster(test):
    """Gives a test a cluster and an empty folder."""
    def wrapped(self):
        with tempfile.TemporaryDirectory() as folder, Cluster() as cluster:
            test(self, cluster, folder)
    return wrapped


class Images(unittest.TestCase):
    def test_every_executable_starts_and_is_not_root(self):
        for image in (images.RUNTIME, images.ACTOR):
            for name in images.EXECUTABLES:
                with self.subTest(image=image, name=name):
                    self.assertIn("waggle", images.run_in(image, name, "--version", options=["--read-only"]))
            self.assertEqual(images.run_in(image, "id", "-u"), "10001")

    def test_python_packages_may_be_put_on_the_actor(self):
        images.run_in(images.ACTOR, "python", "-c", "import grpc, numpy, waggle_client")
        # pip writes to its installation folder, as the user of the actors.
        said = images.run_in(images.ACTOR, "sh", "-c", "command -v pip && test -w /opt/python/lib/python3*/site-packages")
        self.assertEqual(said, "/opt/python/bin/pip")

    def test_the_executables_compute_by_openblas_on_both(self):
        for image in (images.RUNTIME, images.ACTOR):
            said = images.run_in(image, "ldd", "/usr/bin/waggle-actor")
            self.assertIn("libopenblas", said)
            self.assertNotIn("not found", said)


class Start(unittest.TestCase):
    """Pools of processes, without an experiment."""

    @with_cluster
    def test_all_become_healthy_come_back_after_kill_9_and_end_by_themselves(self, cluster, folder):
        del folder
        with timed("everything is started and healthy"):
            cluster.up()
            cluster.await_health()
        with self.subTest("the hub's port is that of the host, and no other is"):
            cluster.waggle("health", f"127.0.0.1:{cluster.port}")
            for service in SERVICES:
                bindings = cluster.state(cluster.containers(service)[0])["HostConfig"]["PortBindings"]
                self.assertEqual(bool(bindings), service == "hub")
        with self.subTest("more actors"):
            cluster.scale(actor=4)
            cluster.await_health("actor")
            self.assertEqual(len(cluster.containers("actor")), 4)
        with self.subTest("fewer actors"):
            cluster.scale(actor=1)
            await_that(lambda: len(cluster.containers("actor")) == 1, "one actor is left")
        for service in SERVICES:
            with self.subTest("killed", service=service):
                cluster.kill(service)
                cluster.await_health(service)
        with self.subTest("a container that comes back to its network"):
            cluster.cut_off("replay-1", seconds=1)
            cluster.await_health()
        for service in reversed(SERVICES):
            for container in cluster.containers(service):
                with self.subTest("stopped", service=service), timed(f"SIGTERM to the end of {service}"):
                    self.assertEqual(cluster.stop(container), 0)


class TensorBoard(unittest.TestCase):
    def test_it_is_built_and_answers_on_the_host(self):
        images.build_tensorboard()
        with Cluster() as cluster:
            cluster.compose("--profile", "tensorboard", "up", "--detach", "--no-build", "tensorboard")

            def answers():
                try:
                    page = f"http://127.0.0.1:{cluster.tensorboard_port}/data/runs"
                    with urllib.request.urlopen(page, timeout=5) as answer:
                        return answer.status == 200
                except OSError:
                    return False

            await_that(answers, "TensorBoard answers")


class Prometheus(unittest.TestCase):
    def test_it_is_built_scrapes_all_processes_and_evaluates_the_alerts(self):
        images.build_prometheus()
        with Cluster() as cluster:
            cluster.up()
            cluster.compose("--profile", "prometheus", "up", "--detach", "--no-build", "--no-recreate", "prometheus")

            def ask(what):
                try:
                    page = f"http://127.0.0.1:{cluster.prometheus_port}/api/v1/{what}"
                    with urllib.request.urlopen(page, timeout=5) as answer:
                        return json.load(answer)["data"]
                except OSError:
                    return None

            def all_are_scraped():
                targets = (ask("targets") or {"activeTargets": []})["activeTargets"]
                return {one["labels"]["service"] for one in targets if one["health"] == "up"} == set(SERVICES)

            def alerts_are_evaluated():
                groups = (ask("rules") or {"groups": []})["groups"]
                return {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}

            with timed("Prometheus is started and has scraped all services"):
                await_that(all_are_scraped, "Prometheus scrapes all services")
            await_that(alerts_are_evaluated, "Prometheus evaluates the alerts")


class Experiments(unittest.TestCase):
    @with_cluster
    def test_three_experiments_on_one_set_up_reach_their_goals_and_leave_nothing_once_deleted(self, cluster, folder):
        cluster.up(learner=2, actor=5, evaluator=3)
        cluster.await_health()
        names = ("cartpole_apex_dqn", "cartpole_impala", "cartpole_a3c")
        with contextlib.ExitStack() as watching:
            watchers = {}
            for name in names:
                experiment = cluster.submit(experiments.patient(folder, name))
                watchers[experiment] = watching.enter_context(Watcher(cluster, experiment, name))
            for experiment in watchers:
                cluster.await_outcome(experiment, "solved", seconds=1200)
        for experiment, watcher in watchers.items():
            self.assertEqual(watcher.problems(), [])
            cluster.waggle("delete", experiment)
            with self.assertRaisesRegex(RuntimeError, "exit status 2"):
                cluster.waggle("status", experiment)
        self.assertEqual(cluster.unhealthy(), [])
        for experiment in watchers:
            await_that(lambda experiment=experiment: not self.left_of(cluster, experiment), "nothing is left of it")

    def left_of(self, cluster, experiment):
        """The files and replay tables that still have an experiment's id in their names."""
        find = f"find /experiments /data -name '*{experiment}*' 2>/dev/null || true"
        left = run("docker", "exec", cluster.containers("hub")[0], "sh", "-c", find).split()
        for server in ("replay-0", "replay-1"):
            status = run("docker", "exec", cluster.containers(server)[0], "waggle", "status", "--replay-server",
                         "127.0.0.1:7001", "--json")
            left += [server] if experiment in status else []
        return left

    @with_cluster
    def test_the_commands_of_the_page_work(self, cluster, folder):
        del folder  # configs/ itself, by its own service.
        cluster.up()
        said = cluster.compose("run", "--rm", "cli", "submit", "configs/cartpole_apex_dqn.yaml", "--watch", timeout=600)
        self.assertIn("solved", said)


class Faults(unittest.TestCase):
    def goes_on(self, watcher):
        """Waits until the experiment has made progress: both counts are larger than now."""
        before = watcher.last()
        await_that(lambda: all(watcher.last()[count] > before[count] for count in ("env_steps", "learner_steps"))
                   or watcher.last()["outcome"] != "running", "the experiment goes on")
        self.assertEqual(watcher.last()["outcome"], "running", "it was over before all faults were tested")

    @with_cluster
    def test_an_experiment_reaches_its_goal_whichever_process_is_killed_or_cut_off(self, cluster, folder):
        cluster.up(learner=2, actor=2, evaluator=2)
        cluster.await_health()
        experiment = cluster.submit(experiments.apex_that_outlives_faults(folder))
        with Watcher(cluster, experiment, "cartpole_apex_dqn") as watcher:
            await_that(lambda: watcher.last() and watcher.last()["learner_steps"] > 0, "it learns")
            for service in ("actor", "evaluator", "replay-0"):
                with self.subTest("kill -9", service=service):
                    cluster.kill(service)
                    with timed(f"{service} started again after kill -9, to both counts growing"):
                        self.goes_on(watcher)
            with self.subTest("kill -9", service="hub"):
                before = await_that(lambda: cluster.attending(), "all are in the pool")
                cluster.kill("hub", meanwhile=watcher.hub_is_killed)
                with timed("hub started again after kill -9, to all its workers back"):
                    await_that(lambda: cluster.attending() == before, "all are back")
                self.goes_on(watcher)
            with self.subTest("cut off", service="replay-1"):
                cluster.cut_off("replay-1", seconds=20)
                with timed("replay-1 back after 20 s without a network, to both counts growing"):
                    self.goes_on(watcher)
            for which in ("the first", "the second"):
                with self.subTest("kill -9 of the learner that works", which=which):
                    killed = await_that(lambda: cluster.worker_as("learner"), "a learner works")

                    def taken_over(killed=killed):
                        # A standby learner, or the killed one's successor in its container, continues. Steps since the
                        # last checkpoint are learned again.
                        await_that(lambda: any(process["role"] == "learner" and process["alive"]
                                               and not process["worker_id"].startswith(killed["worker_id"])
                                               and process["rates"].get("learner_steps", 0) > 0
                                               for process in watcher.last()["processes"]), "another one learns")

                    with timed("kill -9 of the learner, to learner steps of another one"):
                        cluster.kill("learner", cluster.index_of("learner", killed), meanwhile=taken_over)
                    self.goes_on(watcher)
            cluster.await_outcome(experiment, "solved", seconds=1200)
        self.assertEqual(watcher.problems(), [])


class Statuses(unittest.TestCase):
    """The watcher itself."""

    def test_counts_that_go_back_and_outcomes_that_do_are_found(self):
        def status(outcome, steps):
            return {"outcome": outcome, "env_steps": steps, "learner_steps": steps}

        right = [status("queued", 0), status("running", 5), status("finishing", 5), status("solved", 6)]
        self.assertEqual(problems(right), [])
        self.assertEqual(len(problems([status("running", 5), status("running", 4)])), 2)
        forgetful = [status("running", 5), status("running", 9), status("running", 7)]
        self.assertEqual(problems(forgetful, [(2, status("running", 5))]), [])
        self.assertEqual(len(problems(forgetful, [(2, status("running", 8))])), 2)
        self.assertEqual(len(problems(forgetful, [(0, status("running", 5))])), 2)
        self.assertEqual(len(problems([status("solved", 5), status("running", 5)])), 1)
        self.assertEqual(len(problems([status("running", 5), status("queued", 5)])), 1)
        self.assertEqual(len(problems([status("lost", 5)])), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
