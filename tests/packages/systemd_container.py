"""A minimal Debian with systemd, in a container: services run there under all restrictions of their units."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "deploy"))
import images  # noqa: E402  In the folder added above.
from engine import run, succeeds  # noqa: E402

# Flags by which systemd can make namespaces, users and filters of system calls.
RIGHTS = ("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--security-opt", "seccomp=unconfined",
          "--security-opt", "apparmor=unconfined", "--tmpfs", "/run", "--tmpfs", "/tmp", "--env", "container=docker",
          "--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw")
ENVIRONMENT = ("--env", "DEBIAN_FRONTEND=noninteractive", "--env", "LC_ALL=C.UTF-8")


def image():
    """The image's name. The image is built unless it exists."""
    base = images.base()
    tag = base.replace("/base:", "/systemd:")
    if not succeeds("docker", "image", "inspect", tag):
        name = "waggle-systemd-image"
        run("docker", "rm", "--force", name, check=False)
        run("docker", "run", "--name", name, *ENVIRONMENT, base, "sh", "-ec",
            "apt-get update -qq; apt-get install -y -qq --no-install-recommends systemd systemd-sysv; apt-get clean",
            timeout=600)
        run("docker", "commit", name, tag, timeout=300)
        run("docker", "rm", name)
    return tag


class SystemdContainer:
    """A running container. Folders in `mounts` are at /given/NAME."""

    def __init__(self, name, mounts=()):
        self.name = f"waggle-{name}"
        self.remove()
        volumes = [word for mount in mounts for word in ("--volume", f"{mount}:/given/{pathlib.Path(mount).name}:ro")]
        run("docker", "run", "--detach", "--name", self.name, *RIGHTS, *volumes, image(), "/sbin/init", timeout=300)
        for _ in range(100):
            if self.run("systemctl", "is-system-running", check=False).strip() in ("running", "degraded"):
                return
            time.sleep(0.2)
        raise RuntimeError("systemd does not start in a container")

    def run(self, *words, check=True, timeout=900):
        return run("docker", "exec", *ENVIRONMENT, self.name, *words, check=check, timeout=timeout) + "\n"

    def status(self, *words):
        """The exit status of a command, and what it printed."""
        output = self.run("sh", "-c", 'exec 2>&1; "$@"; echo "status $?"', "sh", *words)
        text, _, status = output.rstrip().rpartition("status ")
        return int(status), text

    def named(self, word):
        """Paths whose names contain `word`, except logs and the records of apt and dpkg."""
        found = self.run("find", "/", "-xdev", "-name", f"*{word}*", "-not", "-path", "/var/lib/apt/*", "-not", "-path",
                         "/var/log/*", "-not", "-path", "/var/cache/*", "-not", "-path", "/given/*")
        return found.split()

    def remove(self):
        run("docker", "rm", "--force", self.name, check=False)
