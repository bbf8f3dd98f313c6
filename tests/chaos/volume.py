"""Folders for servers' data that can be full, stand still, become read-only, or lose what was not synced."""

import ctypes
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import time

_EXT4_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN.
_WITHOUT_FLUSH = 2
PRIVATE = "WAGGLE_CHAOS_PRIVATE_MOUNTS"


def enter_private_mounts(script):
    """Starts this program again with mounts of its own, which the kernel removes at its end. Returns if it has them, or
    cannot have them."""
    if os.environ.get(PRIVATE) is not None or shutil.which("unshare") is None:
        return
    flags = ["--mount"] if os.geteuid() == 0 else ["--map-root-user", "--mount"]
    for_them = ["unshare", *flags, "--propagation", "private"]
    if subprocess.run([*for_them, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.environ[PRIVATE] = "yes"
        os.execvp("unshare", [*for_them, sys.executable, str(script), *sys.argv[1:]])


def _run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode == 0


class Volume:
    """A file system in the file `image`, mounted at `folder`: ext4, a tmpfs if there are no loop devices, or a plain folder
    if nothing can be mounted. `kind` says which."""

    def __init__(self, folder, size_mib):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self._image = self.folder.with_suffix(".image")
        self._filler = self.folder / "filler"
        self.kind = "folder"
        if os.environ.get(PRIVATE) is None:
            return
        with open(self._image, "wb") as file:
            file.truncate(size_mib << 20)
        if _run("mkfs.ext4", "-q", "-m", "0", self._image) and self._mount():
            self.kind = "ext4"
            return
        self._image.unlink()
        if _run("mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", self.folder):
            self.kind = "tmpfs"

    @property
    def can_be_full(self):
        return self.kind != "folder"

    @property
    def can_stand_still(self):
        return self.kind == "ext4"

    @property
    def can_lose_power(self):
        return self.kind == "ext4"

    @property
    def can_be_read_only(self):
        return self.kind != "folder"

    def _mount(self, *options):
        return _run("mount", "-o", ",".join(("loop", *options)), self._image, self.folder)

    def fill(self, leave=0):
        """Takes all of its room but `leave` bytes."""
        with open(self._filler, "wb") as file:
            step = 256 << 20
            while step >= 4096:
                free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize - leave
                take = min(step, free)
                try:
                    if take < 4096:
                        return
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, take)
                except OSError:
                    step //= 2

    def free(self):
        self._filler.unlink(missing_ok=True)

    def freeze(self):
        """Every write waits until thaw()."""
        return _run("fsfreeze", "--freeze", self.folder)

    def thaw(self):
        return _run("fsfreeze", "--unfreeze", self.folder)

    def remount(self, read_only):
        """Only while no process writes there. Returns False if it failed."""
        return _run("mount", "-o", f"remount,{'ro' if read_only else 'rw'}", self.folder)

    def lose_power(self):
        """From now on every access fails, and what was not synced is gone. restore_power() comes once no process has
        files open there."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, _EXT4_SHUTDOWN, ctypes.c_uint32(_WITHOUT_FLUSH))
        finally:
            os.close(folder)

    def restore_power(self, seconds=30):
        end = time.monotonic() + seconds
        while not _run("umount", self.folder):
            if time.monotonic() > end:
                raise OSError(f"{self.folder} is still in use")
            time.sleep(0.1)
        if not self._mount():
            raise OSError(f"{self.folder} cannot be mounted again")

    def keep(self, folder):
        """Copies the files, without what fills it, for the finding of a run."""
        if self.kind != "folder":
            shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("filler", "lost+found"),
                            ignore_dangling_symlinks=True, dirs_exist_ok=True)

    def remove(self):
        if self.kind != "folder":
            _run("umount", "--lazy", self.folder)
        if self._image.exists():
            self._image.unlink()
