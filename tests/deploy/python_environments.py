#!/usr/bin/env python3
"""Trains on environments of Python in the containers of deploy/compose.yaml, whose actors have an image with a user's
package.

usage: python_environments.py [TEST …]      a TEST is a class or CLASS.METHOD of this file; by default all

Needs what deploy_test.py needs, and a source of packages for pip. Without a container engine it prints that and tests
nothing.
"""

import tempfile
import unittest

import experiments
import images
from cluster import Cluster, await_that, timed
from engine import run
from watcher import Watcher

# A substitute for pkill. The pattern does not match this command itself.
KILL_ENVIRONMENTS = """
for process in /proc/[0-9]*; do
  if tr '\\0' ' ' <$process/cmdline 2>/dev/null | grep -q 'share/waggle/[e]nvironment'; then
    kill -9 ${process#/proc/}
  fi
done
"""


def setUpModule():
    images.build_or_skip("python_environments")
    images.build_my_game()


def confined(image, *words, entrypoint="waggle", check=True):
    """The output of a command in a container that may write as much as those of compose.yaml."""
    options = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--volume", f"{images.ROOT}/configs:/files:ro"]
    return images.run_in(image, entrypoint, *words, options=options, check=check)


def actors(status):
    return [process for process in status["processes"] if process["role"] == "actor"]


class PipSettings(unittest.TestCase):
    def test_its_sources_are_handed_over_and_the_environment_counts_most(self):
        settings = images.pip_settings("""\
:env:.index-url='https://of.environment/simple'
:env:.target='/elsewhere'
global.extra-index-url='https://one/simple\\nhttps://two/simple'
global.index-url='https://of.file/simple'
install.find-links='/wheels'""")
        self.assertEqual(dict(settings["global"]), {"index-url": "https://of.environment/simple",
                                                    "extra-index-url": "https://one/simple\nhttps://two/simple"})
        self.assertEqual(dict(settings["install"]), {"find-links": "/wheels"})


class Images(unittest.TestCase):
    def test_gymnasium_on_the_actor_takes_the_two_lines_of_the_page(self):
        image = f"{images.PREFIX}/actor-with-gymnasium"
        with tempfile.TemporaryDirectory() as folder:
            images.build_users_actor(image, folder, "Dockerfile")
        self.addCleanup(run, "docker", "image", "rm", image)
        self.assertIn("CartPole-v1", confined(image, "check", "/files/gymnasium_cartpole_ppo.yaml"))

    def test_an_image_without_a_package_says_which(self):
        said = confined(images.ACTOR, "check", "/files/gymnasium_cartpole_ppo.yaml", check=False)
        self.assertIn("gymnasium", said)
        self.assertNotIn("Traceback", said)

    def test_an_environment_of_a_users_package_is_found(self):
        said = confined(images.USERS_ACTOR, "check", "/files/gymnasium_cartpole_ppo.yaml", "--set",
                        "environment.gymnasium.id=my_game:Corridor")
        self.assertIn("Corridor", said)

    def test_packages_may_write_to_their_caches(self):
        confined(images.USERS_ACTOR, "-c", "import pathlib; (pathlib.Path.home() / '.cache/package').mkdir(parents=True)",
                 entrypoint="python")


class Experiments(unittest.TestCase):
    def test_four_actors_solve_cartpole_though_environments_are_killed_and_then_play_a_users_game(self):
        with tempfile.TemporaryDirectory() as folder, \
                Cluster(environment={"WAGGLE_ACTOR_IMAGE": images.USERS_ACTOR}) as cluster:
            cluster.up(actor=4)
            cluster.await_health()
            experiment = cluster.submit(experiments.gymnasium_that_outlives_faults(folder))
            with Watcher(cluster, experiment, "gymnasium_cartpole_ppo") as watcher:
                before = self.await_four_that_step(watcher)
                self.kill_environments_of_one(cluster, watcher, before)
                status = cluster.await_outcome(experiment, "solved", seconds=900)
            self.assertEqual(watcher.problems(), [])
            self.assertEqual(len([one for one in actors(status) if one["counters"]["env_steps"] > 0]), 4)
            text = cluster.waggle("status", experiment)
            self.assertRegex(text, "environments: .* 1 restart")
            cluster.waggle("delete", experiment)

            game = cluster.submit(experiments.my_game(folder))
            status = cluster.await_outcome(game, "limit", seconds=900)
            self.assertEqual(len([one for one in actors(status) if one["counters"]["env_steps"] > 0]), 4)
            cluster.waggle("delete", game)
            self.assertEqual(cluster.unhealthy(), [])

    def await_four_that_step(self, watcher):
        def step():
            status = watcher.last()
            found = actors(status) if status else []
            return status if len(found) == 4 and all(
                one["counters"].get("env_steps", 0) > 0 and one["gauges"].get("environment_processes") == 1
                for one in found) else None

        return await_that(step, "four actors step")

    def kill_environments_of_one(self, cluster, watcher, before):
        victim = actors(before)[0]
        container = cluster.containers("actor")[cluster.index_of("actor", victim)]
        run("docker", "exec", container, "sh", "-c", KILL_ENVIRONMENTS)

        def now():
            [found] = [one for one in watcher.last()["processes"] if one["worker_id"] == victim["worker_id"]]
            return found

        with timed("an environment process is killed, to its restart in the status"):
            await_that(lambda: now()["counters"].get("environment_restarts", 0) == 1, "the restart is counted")
        self.assertIn("CartPole-v1", now()["last_error"])
        restarted = now()["counters"]["env_steps"]
        await_that(lambda: now()["counters"]["env_steps"] > restarted, "its actor steps again")
        others = [one["counters"].get("environment_restarts", 0) for one in actors(watcher.last())
                  if one["worker_id"] != victim["worker_id"]]
        self.assertEqual(others, [0, 0, 0])
        self.assertEqual(watcher.last()["outcome"], "running", "it was over before all faults were tested")

    def test_an_experiment_whose_environment_no_actor_has_fails_and_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder, Cluster() as cluster:
            cluster.up("hub", "replay-0", "learner", "actor", "evaluator", actor=4)
            experiment = cluster.submit(experiments.gymnasium_that_outlives_faults(folder))
            status = cluster.await_outcome(experiment, "failed", seconds=600)
            self.assertIn("module gymnasium", status["reason"])
            self.assertNotIn("Traceback", status["reason"])
            self.assertEqual(status["env_steps"], 0)
            cluster.waggle("delete", experiment)
            self.assertEqual(cluster.unhealthy("actor", "evaluator"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
