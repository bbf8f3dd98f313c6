"""The code of the README and other pages, and the examples. [e2e]"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import waggle_client
from support import Server, ServerTest

FOLDER = pathlib.Path(__file__).resolve().parent.parent


class ExamplesTest(ServerTest):
    def test_the_first_example_of_the_readme_works(self):
        code = re.search(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)[1]
        names = {}
        exec(compile(code.replace("127.0.0.1:7001", self.server.address), "README.md", "exec"), names)
        names["client"].close()
        self.assertEqual((names["counts"].applied, names["weights"].shape), (256, (256,)))

    def test_what_the_pages_of_the_server_show_works(self):
        root = FOLDER.parent
        if not (root / "docs" / "from_reverb.md").is_file():
            self.skipTest("this is not a checkout of Waggle")
        for page, opening in (
            ("README.md", "import numpy as np, waggle_client"),
            ("docs/replay.md", "import numpy as np, waggle_client"),
            ("docs/from_reverb.md", "# Waggle\n"),
        ):
            blocks = re.findall(r"```python\n(.*?)```", (root / page).read_text(), re.DOTALL)
            code = "".join(block for block in blocks if block.startswith(opening))
            self.assertTrue(code, page)
            with self.subTest(page), tempfile.TemporaryDirectory() as folder:
                server = Server(0, "--data-dir", folder)
                self.addCleanup(server.kill)
                names = {}
                exec(compile(code.replace("127.0.0.1:7001", server.address), page, "exec"), names)
                names["client"].close()

    def test_every_example_works(self):
        examples = sorted((FOLDER / "examples").glob("*.py"))
        self.assertTrue(examples)
        package = pathlib.Path(waggle_client.__file__).resolve().parents[1]
        for example in examples:
            done = subprocess.run(
                [sys.executable, str(example), self.server.address],
                env={**os.environ, "PYTHONPATH": str(package)},
                capture_output=True,
                text=True,
                timeout=300,
            )
            self.assertEqual(done.returncode, 0, f"{example}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    unittest.main()
