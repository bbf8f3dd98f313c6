"""The processes of deploy/compose.yaml on this machine's container engine, for tests that run experiments and kill
processes."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import images
from engine import compose_command, run

SERVICES = ("hub", "replay-0", "replay-1", "learner", "reducer", "actor", "evaluator")
PATIENCE = 180  # The time in seconds after which a wait fails.


def await_that(condition, what, seconds=PATIENCE):
    """Waits until `condition()` is true, and returns what it returned."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.5)
    return found


@contextlib.contextmanager
def timed(what):
    """Prints the duration, for information: no test depends on it."""
    start = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - start:.1f} s", flush=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Hub:
    """Requests of a user to the hub at `port` of this machine."""

    security = {}  # Variables by which waggle on the host encrypts and is known.

    def waggle(self, *words, check=True, timeout=PATIENCE):
        """waggle WORDS on the host."""
        return run(images.ROOT / "build/release/bin/waggle", *words, check=check, timeout=timeout,
                   env={**os.environ, "WAGGLE_PARAM_SERVER": f"127.0.0.1:{self.port}", **self.security})

    def submit(self, file):
        said = self.waggle("submit", file, "--json")
        return json.loads(said.partition("\n")[0])["id"]  # The reason why it waits may follow.

    def status(self, experiment):
        """status ID --json; None while the hub does not answer."""
        try:
            return json.loads(self.waggle("status", experiment, "--json", timeout=20))
        except (RuntimeError, subprocess.TimeoutExpired):
            return None

    def await_outcome(self, experiment, outcome, seconds=PATIENCE):
        """Waits until the experiment is over, and requires this outcome. Returns its last status."""
        def over():
            status = self.status(experiment)
            return status if status and status["outcome"] not in ("queued", "running", "finishing") else None

        status = await_that(over, f"{experiment} is over", seconds)
        if status["outcome"] != outcome:
            raise AssertionError(f"{experiment}: got {json.dumps(status)}; wanted the outcome {outcome}")
        return status


class Cluster(Hub):
    """
    with Cluster() as cluster:      # Removes everything again, with volumes.
        cluster.up(actor=3)
        experiment = cluster.submit(path)
        cluster.kill("actor")
        cluster.await_outcome(experiment, "solved")
    """

    def __init__(self, files=(), environment=None):
        """`files`: further compose files, each overriding those before it. `environment`: their variables."""
        self.port = free_port()  # The hub's port on the host.
        self.tensorboard_port = free_port()
        self.prometheus_port = free_port()
        self._project = f"waggle-test-{os.getpid()}-{self.port}"
        self._files = [images.ROOT / "deploy/compose.yaml", *files]
        self._folder = tempfile.TemporaryDirectory()  # On the host: certificates of an administrator, and callers.
        self.callers = pathlib.Path(self._folder.name, "access/access.yaml")
        self.callers.parent.mkdir()
        self.callers.write_text("callers: {}\n")
        self._environment = {
            **os.environ,
            "WAGGLE_CERTIFICATES_IMAGE": images.CERTIFICATES,
            "WAGGLE_ACCESS_FOLDER": str(self.callers.parent),
            "WAGGLE_IMAGE": images.RUNTIME,
            "WAGGLE_ACTOR_IMAGE": images.ACTOR,
            "WAGGLE_TENSORBOARD_IMAGE": images.TENSORBOARD,
            "WAGGLE_PORT": str(self.port),
            "WAGGLE_TENSORBOARD_PORT": str(self.tensorboard_port),
            "WAGGLE_PROMETHEUS_IMAGE": images.PROMETHEUS,
            "WAGGLE_PROMETHEUS_PORT": str(self.prometheus_port),
            **(environment or {}),
        }
        self._scale = {}

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print("\n".join(self.unhealthy()), file=sys.stderr)
            print(self.compose("logs", "--no-color", "--tail", "40", check=False), file=sys.stderr)
        # With the services of the profiles, if any run.
        self.compose("--profile", "cli", "--profile", "tensorboard", "--profile", "prometheus", "down", "--volumes", "--timeout", "20")
        self._folder.cleanup()

    def compose(self, *words, check=True, timeout=300):
        files = [word for file in self._files for word in ("--file", str(file))]
        return run(*compose_command(), "--project-name", self._project, *files, *words, check=check, timeout=timeout,
                   env=self._environment)

    def up(self, *services, **scale):
        """Starts everything, or these services, with the given numbers of containers: up(actor=3)."""
        self._scale.update(scale)
        scales = [word for service, count in self._scale.items() for word in ("--scale", f"{service}={count}")]
        self.compose("up", "--detach", "--no-build", "--no-recreate", *scales, *services)
        if not self.security:
            self.take_certificates()

    def take_certificates(self):
        """Gives waggle on the host an administrator's certificate, as the page tells users."""
        folder = pathlib.Path(self._folder.name)
        run("docker", "cp", f"{self.containers('certificates')[0]}:/certificates/admin", folder)
        self.security = {"WAGGLE_TLS": str(folder / "admin")}

    scale = up

    def containers(self, service=None):
        """The ids of a service's containers, or of all except the tests' own commands."""
        filters = ["--filter", f"label=com.docker.compose.project={self._project}",
                   "--filter", "label=com.docker.compose.oneoff=False"]
        if service is not None:
            filters += ["--filter", f"label=com.docker.compose.service={service}"]
        return run("docker", "ps", "--all", "--quiet", "--no-trunc", *filters).split()

    def state(self, container):
        """The engine's record of a container: docker inspect."""
        return json.loads(run("docker", "inspect", container))[0]

    def await_health(self, *services, seconds=PATIENCE):
        """Waits until all containers, or those of these services, are healthy."""
        await_that(lambda: not self.unhealthy(*services), f"{', '.join(services) or 'everything'} is healthy", seconds)

    def unhealthy(self, *services):
        """The containers, of all or of these services, that do not serve: a list of sentences."""
        found = []
        for service in services or SERVICES:
            states = [self.state(container)["State"] for container in self.containers(service)]
            found += [f"{service} has no container"] if not states else []
            found += [f"{service}: {one['Status']}, {one['Health']['Status']}" for one in states
                      if not one["Running"] or one["Health"]["Status"] != "healthy"]
        return found

    def kill(self, service, index=0, meanwhile=lambda: None):
        """kill -9 of the process in a service's container, as if it had crashed. docker kill is not the same: a
        container that is stopped by hand stays stopped. Calls `meanwhile`, and waits until it has restarted."""
        container = self.containers(service)[index]
        before = self.state(container)
        run("docker", "exec", container, "sh", "-c", "kill -9 -1", check=False)  # Kills its parent process too.
        meanwhile()
        await_that(lambda: self.state(container)["RestartCount"] > before["RestartCount"]
                   and self.state(container)["State"]["Running"], f"{service} is started again")

    def cut_off(self, service, seconds, index=0):
        """Takes a container off its networks for `seconds`. It may come back with another address."""
        container = self.containers(service)[index]
        networks = self.state(container)["NetworkSettings"]["Networks"]
        for name in networks:
            run("docker", "network", "disconnect", name, container)
        time.sleep(seconds)  # The fault itself.
        for name, settings in networks.items():
            aliases = [word for alias in settings["Aliases"] or [] for word in ("--alias", alias)]
            run("docker", "network", "connect", *aliases, name, container)

    def stop(self, container):
        """SIGTERM, and SIGKILL after 10 seconds. Returns the exit status: 137 if it did not end by itself."""
        run("docker", "stop", "--time", "10", container)
        return self.state(container)["State"]["ExitCode"]

    def pool(self):
        """The processes that the hub knows, from status --json; empty while the hub does not answer."""
        try:
            return json.loads(self.waggle("status", "--json", timeout=20))["pool"]
        except (RuntimeError, subprocess.TimeoutExpired):
            return []

    def attending(self):
        """The worker ids of all processes except the hub, once all of them attend; None before. A process that was
        killed a moment ago is still in the pool, but silent."""
        attending = {member["worker_id"] for member in self.pool() if member["seconds_silent"] == 0}
        processes = sum(len(self.containers(service)) for service in SERVICES)
        return attending if len(attending) == processes - 1 else None

    def worker_as(self, role):
        """A process with a role in any experiment, from pool(); None if there is none."""
        return next((member for member in self.pool() if any(order["role"] == role for order in member["orders"])), None)

    def index_of(self, service, worker):
        """The service's container of a process from pool(): its host is the start of the container's id."""
        return [container[:12] for container in self.containers(service)].index(worker["host"])
