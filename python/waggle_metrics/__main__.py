"""Sends the figures of an experiment to MLflow or Weights & Biases.

usage: waggle watch ID --json | python -m waggle_metrics --to mlflow [--project NAME] [--tracking-uri URI]
       python -m waggle_metrics --to wandb RUN

Without RUN it reads lines of `waggle watch ID --json` from the standard input until they end. With RUN, a run's folder, it
sends the figures of that run. Exits with 0, 1 if sending failed, 2 if the input or a flag is wrong, 3 if the target's package
is missing, 130 if interrupted.
"""

import argparse
import sys

from waggle_metrics.records import InputError, read_folder, read_stream
from waggle_metrics.targets import MLflowTarget, WandbTarget

NO_PACKAGE = 3


def say(text):
    print(f"waggle_metrics: {text}", file=sys.stderr)


def send(updates, target):
    """Sends all updates, (Facts, [Rows…]). The first update creates the run in the target. Returns the last facts."""
    facts = None
    for newest, rows in updates:
        if facts is None:
            target.start(newest)
        facts = newest
        target.write(rows)
    if facts is None:
        raise InputError("there were no figures")
    target.finish(facts)
    return facts


def main(arguments=None, lines=None):
    parser = argparse.ArgumentParser(prog="python -m waggle_metrics", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run's folder; without it the standard input is read")
    parser.add_argument("--to", choices=["mlflow", "wandb"], required=True)
    parser.add_argument("--project", default="waggle", help="MLflow's experiment, or the project of Weights & Biases")
    parser.add_argument("--tracking-uri", help="MLflow's server or store; by default MLFLOW_TRACKING_URI")
    flags = parser.parse_args(arguments)
    try:
        target = WandbTarget(flags.project) if flags.to == "wandb" else MLflowTarget(flags.project, flags.tracking_uri)
    except ImportError as error:
        package = {"mlflow": "mlflow-skinny"}.get(flags.to, flags.to)
        say(f"{flags.to} is missing: pip install {package} ({error})")
        return NO_PACKAGE
    try:
        updates = [read_folder(flags.run)] if flags.run else read_stream(lines or sys.stdin)
        facts = send(updates, target)
    except InputError as error:
        say(error)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # pylint: disable=broad-exception-caught  Each package has its own exceptions.
        say(f"{flags.to} did not take the figures: {error}")
        return 1
    say(f"{facts.name} is sent: {facts.outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
