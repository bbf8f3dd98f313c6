#!/usr/bin/env python3
"""Builds the images of deploy/ without a registry.

usage: images.py       makes the base image alone, unless it is there

Their base is a Debian that debootstrap makes of this machine's own package sources, since nothing may be there to pull
it from. It has these sources too, so that apt works in it as it does here. It stays on this machine, for the next time.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import tempfile

from engine import run, succeeds

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXECUTABLES = ("waggle", "waggle-actor", "waggle-learner", "waggle-param-server", "waggle-replay-server")
PREFIX = "waggle-deploy-test"
RUNTIME, ACTOR, TENSORBOARD = (f"{PREFIX}/{name}" for name in ("runtime", "actor", "tensorboard"))


def package_source(codename):
    """The address of this machine's source of Debian's packages, by apt itself."""
    for line in run("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages").splitlines():
        site, _, name = line.rpartition(" ")
        if name == codename:
            return site
    raise RuntimeError(f"apt knows no source of {codename}: is there one in /etc/apt, and has apt-get update run?")


def give_apt_settings(root):
    """Has apt in `root` do as apt does on this machine: sources, keys, proxies, certificates."""
    apt = pathlib.Path("/etc/apt")
    for name in ("sources.list", "sources.list.d", "trusted.gpg", "trusted.gpg.d", "keyrings", "auth.conf",
                 "auth.conf.d"):
        if (apt / name).is_dir():
            shutil.copytree(apt / name, root / "etc/apt" / name, dirs_exist_ok=True)
        elif (apt / name).exists():
            shutil.copy(apt / name, root / "etc/apt" / name)
        else:
            (root / "etc/apt" / name).unlink(missing_ok=True)
    settings = [line for line in run("apt-config", "dump", "Acquire").splitlines() if line.startswith("Acquire::")]
    (root / "etc/apt/apt.conf.d/99test").write_text("\n".join(settings) + "\n")
    for folder in ("usr/share/keyrings", "usr/local/share/ca-certificates"):
        if pathlib.Path("/", folder).is_dir():
            shutil.copytree(pathlib.Path("/", folder), root / folder, dirs_exist_ok=True)


def make_base(tag, codename):
    if os.geteuid() != 0:
        raise RuntimeError("debootstrap needs root: sudo tests/deploy/images.py makes the base image, once")
    source = package_source(codename)
    settings = dict(os.environ)
    proxy = run("apt-config", "shell", "PROXY", "Acquire::http::Proxy").partition("=")[2].strip("'\"")
    if proxy and proxy != "DIRECT":
        settings["http_proxy"] = proxy
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        run("debootstrap", "--variant=minbase", codename, root, source, env=settings, timeout=900)
        give_apt_settings(root)
        for cache in (root / "var/cache/apt/archives", root / "var/lib/apt/lists"):
            shutil.rmtree(cache)
            (cache / "partial").mkdir(parents=True)
        with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as archive:
            run("docker", "import", "-", tag, stdin=archive.stdout, timeout=300)


def base():
    """The base image's name. It is made unless it is there."""
    release = platform.freedesktop_os_release()
    codename = release.get("VERSION_CODENAME", "")
    if release.get("ID") != "debian":
        raise RuntimeError(f"got {release.get('PRETTY_NAME')}; wanted Debian, which the executables are built on")
    tag = f"{PREFIX}/base:{codename}"
    if not succeeds("docker", "image", "inspect", tag):
        make_base(tag, codename)
    return tag


def build():
    """Builds runtime and actor around the executables of build/release/bin."""
    missing = [name for name in EXECUTABLES if not (ROOT / "build/release/bin" / name).is_file()]
    if missing:
        raise RuntimeError(f"build/release/bin has no {', '.join(missing)}: ./dev test-deploy builds them")
    base_image = base()
    for target, tag in (("runtime", RUNTIME), ("actor", ACTOR)):
        run("docker", "build", "--file", "deploy/Dockerfile", "--target", target, "--tag", tag,
            "--build-arg", f"BASE_IMAGE={base_image}", "--build-arg", "EXECUTABLES=given", ".", cwd=ROOT, timeout=1800)


def build_tensorboard():
    run("docker", "build", "--file", "deploy/tensorboard.Dockerfile", "--tag", TENSORBOARD,
        "--build-arg", f"BASE_IMAGE={base()}", "deploy", cwd=ROOT, timeout=1800)


if __name__ == "__main__":
    print(base())
