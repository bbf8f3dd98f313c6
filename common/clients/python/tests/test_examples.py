"""What the README shows, and the examples. [e2e]"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import waggle_client
from support import ServerTest

FOLDER = pathlib.Path(__file__).resolve().parent.parent


class ExamplesTest(ServerTest):
    def test_the_first_example_of_the_readme_works(self):
        code = re.search(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)[1]
        names = {}
        exec(compile(code.replace("127.0.0.1:7001", self.server.address), "README.md", "exec"), names)
        names["client"].close()
        self.assertEqual((names["counts"].applied, names["weights"].shape), (256, (256,)))

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
