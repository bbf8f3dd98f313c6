"""deploy/kubernetes, changed as its page tells users."""

import contextlib
import pathlib
import re
import shutil
import tempfile

KUBERNETES = pathlib.Path(__file__).resolve().parents[2] / "deploy/kubernetes"


@contextlib.contextmanager
def with_actor_image(line):
    """A copy of deploy/kubernetes whose overlays have this line instead of waggle-actor's."""
    with tempfile.TemporaryDirectory() as folder:
        copied = pathlib.Path(folder, "kubernetes")
        shutil.copytree(KUBERNETES, copied)
        for path in copied.glob("overlays/*/kustomization.yaml"):
            path.write_text(re.sub(r"(?m)^  - {name: waggle-actor,.*$", line, path.read_text()))
        yield copied
