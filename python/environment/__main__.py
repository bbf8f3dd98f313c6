"""Lets `python FOLDER` run the package that lies in the folder; an actor starts it so."""

import os
import sys

from waggle_environment.__main__ import main

if __name__ == "__main__":
    sys.path.insert(1, os.getcwd())  # Environments of the user's are found as `python -m` finds them.
    sys.exit(main())
