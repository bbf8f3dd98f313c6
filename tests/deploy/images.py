#!/usr/bin/env python3
"""Builds the images of deploy/ without a registry.

usage: images.py       builds only the base image, unless it exists

Their base is a Debian that debootstrap installs from this machine's package sources, as there may be no registry. It
has these sources and pip's, so that apt and pip work in it as they do here. It stays on this machine, for the next time.
"""

import ast
import configparser
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from engine import run, succeeds, what_is_missing

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ("waggle_*.deb", "waggle-worker_*.deb")
EXECUTABLES = ("waggle", "waggle-actor", "waggle-learner", "waggle-param-server", "waggle-replay-server")
PREFIX = "waggle-deploy-test"
RUNTIME, ACTOR, CERTIFICATES, TENSORBOARD, PROMETHEUS = (
    f"{PREFIX}/{name}" for name in ("runtime", "actor", "certificates", "tensorboard", "prometheus"))
PIP_SOURCES = ("index-url", "extra-index-url", "no-index", "find-links", "trusted-host", "proxy", "cert", "client-cert",
               "timeout", "default-timeout", "retries")
USERS_ACTOR = f"{PREFIX}/actor-with-my-game"  # As in deploy/README.md.


def package_source(codename):
    """The address of this machine's source of Debian packages, from apt."""
    for line in run("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages").splitlines():
        site, _, name = line.rpartition(" ")
        if name == codename:
            return site
    raise RuntimeError(f"apt knows no source of {codename}: is there one in /etc/apt, and has apt-get update run?")


def give_apt_settings(root):
    """Makes apt in `root` work as on this machine: sources, keys, proxies, certificates."""
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


def pip_settings(listed):
    """A configuration file with the sources from `pip config list`. Environment variables go before files."""
    found = configparser.RawConfigParser()
    for line in sorted(listed.splitlines(), reverse=True):  # ":env:" sorts before all other sections, and is set last.
        key, _, value = line.partition("=")
        section, _, option = key.rpartition(".")
        if option in PIP_SOURCES:
            section = "global" if section == ":env:" else section
            if not found.has_section(section):
                found.add_section(section)
            found.set(section, option, ast.literal_eval(value))
    return found


def give_pip_settings(root):
    """Makes pip in `root` use the package sources of pip on this machine."""
    if not succeeds("python3", "-m", "pip", "--version"):
        return
    settings = pip_settings(run("python3", "-m", "pip", "--disable-pip-version-check", "config", "list"))
    for section in settings.sections():
        for option in ("cert", "client-cert"):
            if settings.has_option(section, option):
                file = pathlib.Path(settings.get(section, option))
                copy = root / file.relative_to("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy)
    with (root / "etc/pip.conf").open("w") as file:
        settings.write(file)


def make_root(root):
    """Installs this machine's release of Debian into the folder `root`, with its package sources."""
    if os.geteuid() != 0:
        raise RuntimeError("debootstrap needs root")
    codename = debian_codename()
    source = package_source(codename)
    settings = dict(os.environ)
    proxy = run("apt-config", "shell", "PROXY", "Acquire::http::Proxy").partition("=")[2].strip("'\"")
    if proxy and proxy != "DIRECT":
        settings["http_proxy"] = proxy
    run("debootstrap", "--variant=minbase", codename, root, source, env=settings, timeout=900)
    give_apt_settings(root)
    give_pip_settings(root)
    for cache in (root / "var/cache/apt/archives", root / "var/lib/apt/lists"):
        shutil.rmtree(cache)
        (cache / "partial").mkdir(parents=True)


def make_base(tag):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        make_root(root)
        with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as archive:
            run("docker", "import", "-", tag, stdin=archive.stdout, timeout=300)


def debian_codename():
    """This machine's release of Debian, such as bookworm."""
    release = platform.freedesktop_os_release()
    if release.get("ID") != "debian":
        raise RuntimeError(f"got {release.get('PRETTY_NAME')}; wanted Debian, which the executables are built on")
    return release.get("VERSION_CODENAME", "")


def base():
    """The base image's name. The image is built unless it exists."""
    tag = f"{PREFIX}/base:{debian_codename()}"
    if not succeeds("docker", "image", "inspect", tag):
        make_base(tag)
    return tag


def build():
    """Builds runtime and actor from the packages of dist, and certificates, and prints their sizes."""
    for package in PACKAGES:
        found = list((ROOT / "dist").glob(package))
        if len(found) != 1:
            raise RuntimeError(f"dist has {len(found)} files {package}; wanted one: ./dev test-deploy makes it")
        print(f"{found[0].name}: of {time.ctime(found[0].stat().st_mtime)}", flush=True)
    build_image(RUNTIME, "--file", "deploy/Dockerfile", "--target", "runtime", "--build-arg", "EXECUTABLES=given", ".")
    build_image(ACTOR, "--file", "deploy/Dockerfile", "--target", "actor", "--build-arg", "EXECUTABLES=given", ".")
    build_image(CERTIFICATES, "--file", "deploy/certificates.Dockerfile", "deploy")


def build_image(tag, *words):
    """docker build WORDS on the base image. Prints the time and the image's size."""
    base_image = base()
    begun = time.monotonic()
    run("docker", "build", "--tag", tag, "--build-arg", f"BASE_IMAGE={base_image}", *words, cwd=ROOT, timeout=1800)
    size = int(run("docker", "image", "inspect", "--format", "{{.Size}}", tag))
    print(f"{tag}: {size / 1e6:.0f} MB, built in {time.monotonic() - begun:.0f} s", flush=True)


def build_or_skip(test):
    """build(), or, without an engine, the end of the test named `test`."""
    missing = what_is_missing()
    if missing is not None:
        print(f"{test}: SKIPPED, nothing was tested: {missing}", file=sys.stderr)
        raise unittest.SkipTest(missing)
    build()


def run_in(image, entrypoint, *words, options=(), check=True):
    """The output of a command in a container of the image without a network."""
    command = ["docker", "run", "--rm", "--network", "none", *options, "--entrypoint", entrypoint, image, *words]
    return run(*command, check=check)


def page_blocks(page, folder, *paths):
    """Writes a page's code blocks to files of `folder`: the blocks after lines that end with `PATH`:."""
    run("python3", ROOT / "tests/worked_example/extract_code.py", ROOT / page, folder, *paths)


def build_users_actor(tag, folder, dockerfile):
    """Builds one of deploy/README.md's images FROM waggle-actor, with `folder` as its context."""
    page_blocks("deploy/README.md", folder, dockerfile)
    path = pathlib.Path(folder, dockerfile)
    path.write_text(path.read_text().replace("FROM waggle-actor\n", f"FROM {ACTOR}\n"))
    run("docker", "build", "--file", path, "--tag", tag, folder, timeout=600)


def build_my_game():
    """Builds USERS_ACTOR: waggle-actor with the environment of the page on environments, as a user's package."""
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder, "my_game")
        page_blocks("docs/environments_of_your_own.md", package, "my_game.py")
        package.joinpath("pyproject.toml").write_text("""\
[project]
name = "my-game"
version = "0.1.0"
dependencies = ["gymnasium"]

[tool.setuptools]
py-modules = ["my_game"]
""")
        build_users_actor(USERS_ACTOR, folder, "Dockerfile.my_game")


def build_tensorboard():
    build_image(TENSORBOARD, "--file", "deploy/tensorboard.Dockerfile", "deploy")


def build_prometheus():
    build_image(PROMETHEUS, "--file", "deploy/prometheus.Dockerfile", "deploy")


if __name__ == "__main__":
    print(base())
