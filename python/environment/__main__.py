"""Runs the package in this folder, for `python FOLDER`, which actors use."""

import os
import sys

from waggle_environment.__main__ import main

if __name__ == "__main__":
    sys.path.insert(1, os.getcwd())  # So that the user's environments are found, as by `python -m`.
    sys.exit(main())
