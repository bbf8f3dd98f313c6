"""Sends the figures of Waggle's experiments to MLflow or Weights & Biases: python -m waggle_metrics --help."""

from waggle_metrics.records import Facts, Rows, read_folder, read_stream
from waggle_metrics.targets import MLflowTarget, WandbTarget

__all__ = ["Facts", "MLflowTarget", "Rows", "WandbTarget", "read_folder", "read_stream"]
