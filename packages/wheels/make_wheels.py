#!/usr/bin/env python3
"""Makes the wheel waggle or waggle-worker from its built executable.

usage: make_wheels.py waggle BUILD OUTPUT
       make_wheels.py waggle-worker BUILD OUTPUT --torch VERSION

BUILD is build/wheel or build/wheel-worker, in which the executable has been built. The wheel is written into the folder
OUTPUT. Needs the Python package wheel and, for the licences of the libraries that are linked statically, dpkg.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Packages of headers that are compiled into the executables.
HEADER_PACKAGES = ["libspdlog-dev", "libfmt-dev", "libcli11-dev", "nlohmann-json3-dev"]

# Manual pages and completions, and where they go in the folder share.
PRINTED = {
    "waggle": "bash-completion/completions/waggle",
    "_waggle": "zsh/site-functions/_waggle",
    "waggle.fish": "fish/vendor_completions.d/waggle.fish",
    **{
        f"{program}.1.gz": f"man/man1/{program}.1.gz"
        for program in ("waggle", "waggle-param-server", "waggle-replay-server")
    },
}

# Runs one of the programs of the executable `waggle`, which is in this script's folder. The script may be called by a link.
LAUNCHER = """#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/waggle" {program} "$@"
"""

METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {summary}
License: Apache-2.0
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.9
{requirements}
Description-Content-Type: text/markdown

{description}
"""

# Further extras are in python/pyproject.toml.
EXTRAS = {"export": ["onnxruntime"], "gymnasium": ["gymnasium>=1.0"], "plot": ["matplotlib"]}
PYTHON_PACKAGES = ("waggle_client", "waggle", "waggle_metrics")

WAGGLE_DESCRIPTION = """Waggle trains deep reinforcement learning by actors and learners in processes of their own, over gRPC.

    pip install waggle-*.whl waggle_worker-*.whl
    waggle run cartpole_ppo

This package has the command `waggle`, the hub and the replay server as one executable, the replay server's Python client
`waggle_client`, and the experiments that `waggle configs` lists. Extras add packages: `train` the learner and the actor, which
need PyTorch; `client` the packages for `waggle_client`; `gymnasium` and `plot` the packages for environments of Python and for
curves. `waggle.load` needs onnxruntime.
"""

WORKER_DESCRIPTION = """The learner and the actor of Waggle, for PyTorch {torch}. `pip install` of waggle[train] needs this package.
"""


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def waggle_requirements(version):
    """The extras of the package waggle. Without an extra it requires no package."""
    project = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
    extras = {
        "train": [f"waggle-worker=={version}"],
        "client": project["dependencies"],
        **project["optional-dependencies"],
        **EXTRAS,
    }
    lines = []
    for extra, packages in extras.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {package}; extra == "{extra}"' for package in packages]
    return "\n".join(lines)


def version_of(build):
    cache = (build / "CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", cache, re.MULTILINE)[1]


def glibc_of(executable):
    """The newest version of glibc whose symbols the executable needs, such as ("2", "36")."""
    symbols = run("objdump", "-T", executable)
    return max(re.findall(r"GLIBC_(\d+)\.(\d+)", symbols), key=lambda version: tuple(map(int, version)))


def linked_archives(build, target):
    """The system's static libraries that are linked into an executable."""
    commands = run("ninja", "-C", build, "-t", "commands", "-s", target)
    return sorted({pathlib.Path(word) for word in re.findall(r"(?<=\s)/\S+\.a(?=\s)", commands)})


def notices(archives):
    """The copyright and licence texts of the Debian packages of these libraries and of HEADER_PACKAGES."""
    packages = set(HEADER_PACKAGES)
    for archive in archives:
        packages.add(run("dpkg-query", "--search", archive).split(":")[0])
    texts = {}  # Packages of one source package have equal texts.
    for package in sorted(packages):
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
        texts.setdefault(text, []).append(package)
    return "\n".join(f"{'=' * 100}\n{', '.join(names)}\n{'=' * 100}\n{text}" for text, names in texts.items())


def write(path, text, executable=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if executable else 0o644)


def copy(source, target, executable=False):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if executable else 0o644)


def copy_tree(source, target, pattern):
    for path in sorted(source.rglob(pattern)):
        copy(path, target / path.relative_to(source))


def copy_environment_package(share):
    """Copies the programs that step environments of Python. Every installation has them beside the executable."""
    source = ROOT / "python" / "environment"
    copy(source / "__main__.py", share / "environment" / "__main__.py")
    copy_tree(source / "waggle_environment", share / "environment" / "waggle_environment", "*.py")


def add_waggle(tree, build, data):
    scripts = data / "scripts"
    copy(build / "bin" / "waggle-multicall", scripts / "waggle", executable=True)
    for program in ("waggle-param-server", "waggle-replay-server"):
        write(scripts / program, LAUNCHER.format(program=program), executable=True)
    share = data / "data" / "share" / "waggle"
    copy_tree(ROOT / "cli" / "run", share, "*.py")
    copy_tree(ROOT / "configs", share / "configs", "*.yaml")
    copy_environment_package(share)
    printed = build / "packages" / "printed"
    for source, target in PRINTED.items():
        copy(printed / source, share.parent / target)
    for package in PYTHON_PACKAGES:
        copy_tree(ROOT / "python" / package, tree / package, "*.py")
        copy_tree(ROOT / "python" / package, tree / package, "py.typed")
    run(sys.executable, ROOT / "python" / "proto_build.py", tree / "waggle_client" / "waggle_v1.binpb")


def add_worker(tree, build, torch):
    package = tree / "waggle_worker"
    copy(build / "bin" / "waggle-worker", package / "bin" / "waggle-worker", executable=True)
    copy_environment_package(package / "share" / "waggle")
    copy(ROOT / "packages" / "wheels" / "waggle_worker" / "__init__.py", package / "__init__.py")
    write(package / "_torch.py", f'TORCH = "{torch}"  # The minor version that the executable was built for.\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=["waggle", "waggle-worker"])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--torch", default="")
    arguments = parser.parse_args()
    name, build = arguments.name, arguments.build.resolve()
    torch = ".".join(arguments.torch.split(".")[:2])
    if (name == "waggle-worker") != bool(torch):
        parser.error("--torch is for waggle-worker, which needs it")
    version = version_of(build)
    target = "waggle-multicall" if name == "waggle" else "waggle-worker"
    stem = f"{name.replace('-', '_')}-{version}"

    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        information = tree / f"{stem}.dist-info"
        if name == "waggle":
            add_waggle(tree, build, tree / f"{stem}.data")
            summary = "Distributed actor-learner training of deep reinforcement learning"
            requirements = waggle_requirements(version)
            description = WAGGLE_DESCRIPTION
        else:
            add_worker(tree, build, torch)
            summary = "The learner and the actor of Waggle"
            requirements = f"Requires-Dist: torch=={torch}.*"
            description = WORKER_DESCRIPTION.format(torch=torch)
            write(
                information / "entry_points.txt",
                "[console_scripts]\nwaggle-learner = waggle_worker:learner\nwaggle-actor = waggle_worker:actor\n",
            )
        write(
            information / "METADATA",
            METADATA.format(
                name=name, version=version, summary=summary, requirements=requirements, description=description
            ),
        )
        machine = run("uname", "-m").strip()
        tag = f"py3-none-manylinux_{'_'.join(glibc_of(build / 'bin' / target))}_{machine}"
        write(
            information / "WHEEL",
            f"Wheel-Version: 1.0\nGenerator: waggle {version}\nRoot-Is-Purelib: false\nTag: {tag}\n",
        )
        copy(ROOT / "LICENSE", information / "licenses" / "LICENSE")
        write(information / "licenses" / "NOTICES", notices(linked_archives(build, f"bin/{target}")))
        arguments.output.mkdir(parents=True, exist_ok=True)
        for old in arguments.output.glob(f"{name.replace('-', '_')}-*.whl"):
            old.unlink()
        run(sys.executable, "-m", "wheel", "pack", tree, "--dest-dir", arguments.output)
    for wheel in arguments.output.glob(f"{stem}-*.whl"):
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
