"""Runs policies that Waggle has trained. Waggle itself is not needed.

    policy = waggle.load("runs/cartpole")          # a run's folder, or a file of `waggle export`
    action, state = policy.act(observation, state)

NumPy and onnxruntime are enough; `policy.torch()` needs PyTorch.
"""

from waggle._load import load

__all__ = ["Policy", "load"]


def __getattr__(name):
    if name == "Policy":  # Imports onnxruntime.
        from waggle._policy import Policy

        return Policy
    raise AttributeError(f"module 'waggle' has no attribute {name!r}")
