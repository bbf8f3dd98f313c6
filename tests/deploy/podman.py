"""podman on this machine, for tests that play Kubernetes' manifests with it. All their data, volumes and networks too, is in
a separate folder: other uses of podman on this machine are not affected."""

import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

from engine import run


def allowance(limit):
    """A container's part of a limit: enough for these tests, and no more than this process has. By default podman asks
    for more, which only a process with CAP_SYS_RESOURCE may give."""
    hard = resource.getrlimit(limit)[1]
    least = 16384 if hard == resource.RLIM_INFINITY else min(hard, 16384)
    return f"{least}:{least}"


class Podman:
    """
    with Podman() as podman:
        podman.load("waggle", "localhost/waggle:dev")
        podman.play(text)
    """

    def __enter__(self):
        # Short, as podman puts sockets into it.
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="podman-"))
        (self._folder / "networks").mkdir()
        settings = self._folder / "containers.conf"
        settings.write_text(f"""\
[containers]
default_ulimits = ["nofile={allowance(resource.RLIMIT_NOFILE)}", "nproc={allowance(resource.RLIMIT_NPROC)}"]
[engine]
events_logger = "file"
lock_type = "file"  # Locks in shared memory are shared by all podman processes of this machine.
""")
        # The tests run the health checks themselves, as there is no systemd.
        self._environment = {**os.environ, "CONTAINERS_CONF": str(settings), "DISABLE_HC_SYSTEMD": "true"}
        self._command = ["podman", "--root", self._folder / "root", "--runroot", self._folder / "run",
                         "--tmpdir", self._folder / "tmp", "--network-config-dir", self._folder / "networks"]
        return self

    def __exit__(self, kind, error, trace):
        self("pod", "rm", "--all", "--force", "--time", "0", check=False)
        self("network", "prune", "--force", check=False)
        # podman system reset would affect more than the folder.
        run("umount", "--quiet", self._folder / "root/overlay", check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __call__(self, *words, check=True, timeout=300, **options):
        return run(*self._command, *words, check=check, timeout=timeout, env=self._environment, **options)

    def succeeds(self, *words):
        try:
            self(*words)
        except RuntimeError:
            return False
        return True

    def load(self, docker_image, tag):
        """Copies an image from the docker engine."""
        with subprocess.Popen(["docker", "save", docker_image], stdout=subprocess.PIPE) as archive:
            said = self("load", "--quiet", stdin=archive.stdout)
        self("tag", said.rpartition("Loaded image: ")[2].split()[0], tag)

    def choose_runtime(self, image):
        """Takes the first of podman's run-time programs that runs a pod of this image. If none does, raises the last one's
        error: an old control group, a missing package."""
        for runtime in ("crun", "runc"):
            command = [*self._command, "--runtime", runtime]
            try:
                run(*command, "run", "--rm", "--pod", f"new:probe-{runtime}", "--entrypoint", "waggle", image, "--version",
                    env=self._environment)
            except RuntimeError as error:
                problem = error
            else:
                self._command = command
                return
            finally:
                run(*command, "pod", "rm", "--force", f"probe-{runtime}", env=self._environment, check=False)
        raise problem

    def play(self, manifests):
        path = self._folder / "manifests.yaml"
        path.write_text(manifests)
        self("play", "kube", path)

    def down(self):
        """Removes the played pods, and keeps their volumes."""
        self("play", "kube", "--down", self._folder / "manifests.yaml")
