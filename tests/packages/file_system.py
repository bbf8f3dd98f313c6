"""Fresh Debian file systems, in which packages are installed and tried as on a new machine.

The first one is made by debootstrap and kept in build/packages_test; each test has a copy. Commands run in it by chroot,
with a view of processes and mounts of their own; the network is this machine's. Needs root.
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "deploy"))
import images  # noqa: E402  In the folder added above.

FOLDER = ROOT / "build" / "packages_test"

# $1 is the file system. The other arguments are a command.
ENTER = """
for name in proc sys dev dev/pts; do mkdir -p "$1/$name"; done
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
for folder in {mounts}; do
  mkdir -p "$1/given/$(basename "$folder")"
  mount --bind "$folder" "$1/given/$(basename "$folder")"
done
root="$1"
shift
exec chroot "$root" /usr/bin/env -i PATH={path} HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
"""


def base():
    """The file system of which all others are copies."""
    folder = FOLDER / "base"
    if not (folder / "etc/pip.conf").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        images.make_root(folder)
    return folder


class FileSystem:
    """A copy of the base. Folders in `mounts` are at /given/NAME."""

    def __init__(self, name, mounts=(), path="/usr/sbin:/usr/bin:/sbin:/bin"):
        self.folder = FOLDER / name
        self.remove()
        subprocess.run(["cp", "-a", "--reflink=auto", base(), self.folder], check=True)
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")
        shutil.copy("/etc/hosts", self.folder / "etc/hosts")
        self.mounts = [str(mount) for mount in mounts]
        self.path = path

    def command(self, *words):
        enter = ENTER.format(mounts=" ".join(self.mounts), path=self.path)
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", enter, "sh", self.folder,
                *map(str, words)]

    def run(self, *words, check=True, timeout=900):
        """The exit status of a command and what it printed. With `check`, a status other than 0 raises."""
        done = subprocess.run(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}")
        return done.returncode, done.stdout

    def shell(self, script, check=True, timeout=900):
        return self.run("sh", "-ec", script, check=check, timeout=timeout)

    def install(self, *packages):
        self.run("apt-get", "update", "-qq")
        self.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)

    def named(self, word):
        """Paths whose names contain `word`, except logs and the records of apt, dpkg and pip."""
        kept = ("var/cache", "var/lib/apt", "var/log", "proc", "sys", "dev", "given", "tmp", "root/.cache")
        for path in self.folder.rglob(f"*{word}*"):
            name = path.relative_to(self.folder).as_posix()
            if not name.startswith(kept):
                yield name

    def remove(self):
        if self.folder.exists():
            subprocess.run(["rm", "-rf", "--one-file-system", self.folder], check=True)
