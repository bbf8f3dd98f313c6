"""Extends setuptools' steps, which pyproject.toml cannot: the .proto files are compiled, or go into the archive."""

import pathlib
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import proto_build  # noqa: E402  Beside this file, which need not be on the path when a build front end runs it.


class BuildWithProtos(build_py):
    def run(self):
        super().run()
        # An editable installation runs from the sources.
        folder = proto_build.HERE if getattr(self, "editable_mode", False) else pathlib.Path(self.build_lib)
        proto_build.compile_to(folder / "waggle_client" / proto_build.NAME)

    def get_outputs(self, include_bytecode=1):
        compiled = str(pathlib.Path(self.build_lib) / "waggle_client" / proto_build.NAME)
        return [*super().get_outputs(include_bytecode), compiled]


class ArchiveWithProtos(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for file in proto_build.FILES:
            target = pathlib.Path(base_dir) / "proto" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(proto_build.proto_root() / file, target)


setup(cmdclass={"build_py": BuildWithProtos, "sdist": ArchiveWithProtos})
