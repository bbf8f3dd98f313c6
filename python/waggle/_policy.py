"""Runs a trained policy of an ONNX file by onnxruntime."""

import json

import numpy as np
import onnxruntime

from waggle import _spaces

_FORMAT = "1"
_STATE = "state"
_NEXT_STATE = "next_state"


class Policy:
    """A policy that acts greedily, as in Waggle's evaluations. Only one thread at a time may call it.

    metadata: texts by the keys of docs/export.md, without "waggle.": "algorithm", "environment", "env_steps", …
    observations, actions: the leaves of the environment's spaces.
    state_size: the length of the policy's memory of an episode; 0 if it has none.
    """

    def __init__(self, path, providers=("CPUExecutionProvider",)):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1  # Small networks are slower with more threads.
        self._path = path
        self._session = onnxruntime.InferenceSession(str(path), options, providers=list(providers))
        facts = self._session.get_modelmeta().custom_metadata_map
        self.metadata = {
            key[len("waggle.") :]: value for key, value in facts.items() if key.startswith("waggle.")
        }
        if self.metadata.get("format") != _FORMAT:
            raise ValueError(f"{path}: got the format {self.metadata.get('format')}; wanted {_FORMAT}, "
                             "of a file that `waggle export` has written")
        self.observations = [_spaces.Leaf(leaf) for leaf in json.loads(self.metadata["observations"])]
        self.actions = [_spaces.Leaf(leaf) for leaf in json.loads(self.metadata["actions"])]
        self.state_size = int(self.metadata["state_size"])
        self._names = [value.name for value in self._session.get_outputs()]
        inputs = {value.name for value in self._session.get_inputs()}
        self._inputs = [leaf for leaf in self.observations if leaf.name in inputs]

    def act(self, observation, state=None, mask=None):
        """Returns the action for an observation, and the state for the next call.

        observation: has the form of the environment's Gymnasium space: an array, a dict or tuple of arrays, or a dict of
            agents. In a batch each array has one more dimension, the first.
        state: None when an episode begins; later the state that the previous call returned, [state_size] or
            [batch, state_size]. In a batch, the caller sets the rows of lanes that begin an episode to 0. None if the
            policy has no memory.
        mask: true for legal choices, in the form of the action. It is needed if the environment has masks outside the
            observation. Without a mask all choices are legal.

        Raises ValueError, naming the array, if an array has another form.
        """
        outputs, batched = self._run(observation, state, mask)
        values = []
        for leaf in self.actions:
            array = outputs[leaf.name]
            array = array + leaf.start if leaf.starts else array
            values.append((leaf, array if batched else array[0]))
        after = outputs.get(_NEXT_STATE)
        return _spaces.join(values), after if after is None or batched else after[0]

    def outputs(self, observation, state=None, mask=None):
        """Returns all outputs of the graph by name, as arrays [batch, …]: actions, "q", "logits", "mean", "stddev", …"""
        return self._run(observation, state, mask)[0]

    def torch(self):
        """Returns the policy as a torch.nn.Module. Its parameters have Waggle's names.

        The module maps a dict of tensors [batch, …], the graph's inputs, to a dict of its outputs.
        """
        from waggle._torch import Module

        return Module(self._path)

    def _run(self, observation, state, mask):
        arrays = {leaf.name: leaf.array(self._find(leaf, observation, mask)) for leaf in self._inputs
                  if leaf.root != "action_mask"}
        batches = {leaf.is_batch(arrays[leaf.name]) for leaf in self._inputs if leaf.name in arrays}
        if len(batches) > 1:
            raise ValueError("observation: got a batch and single arrays; wanted all of one kind")
        batched = batches.pop() if batches else False
        feeds = {name: array if batched else array[None] for name, array in arrays.items()}
        rows = len(next(iter(feeds.values())))
        if any(len(array) != rows for array in feeds.values()):
            raise ValueError("observation: got batches of several lengths; wanted one")
        for leaf in self._inputs:
            if leaf.root == "action_mask":
                given = self._find(leaf, observation, mask)
                legal = np.ones((rows, *leaf.shape), bool) if given is None else leaf.array(given)
                feeds[leaf.name] = legal if leaf.is_batch(legal) else legal[None]
        if self.state_size > 0:
            feeds[_STATE] = self._state(state, rows)
        return dict(zip(self._names, self._session.run(self._names, feeds))), batched

    def _find(self, leaf, observation, mask):
        """A leaf's value; None if it is a mask that was not given."""
        if leaf.root == "action_mask" and mask is not None:
            for key in ([] if leaf.agent is None else [leaf.agent]) + leaf.path:
                mask = mask[key]
            return mask
        try:
            return _spaces.find(leaf, observation)
        except (KeyError, IndexError, TypeError):
            if leaf.root == "action_mask":
                return None
            raise ValueError(f"{leaf.name}: is missing in the observation") from None

    def _state(self, state, rows):
        if state is None:
            return np.zeros((rows, self.state_size), np.float32)
        state = np.asarray(state, np.float32).reshape(-1, self.state_size)
        if len(state) != rows:
            raise ValueError(f"state: got {len(state)} rows; wanted {rows}")
        return state
