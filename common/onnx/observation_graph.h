#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/config/spec/space_leaf.h"
#include "common/onnx/onnx_graph.h"

namespace waggle {

// A transform of observations that an exported policy applies to each row by itself: what the one of this name in
// actor/environments/transforms does.
struct ObservationStep {
  // The names of those that can be written: "channels_first", "copy", "flatten", "grayscale", "one_hot", "scale".
  static bool IsKnown(const std::string& transform);

  std::string transform;
  std::vector<SpaceLeaf> after;  // All leaves behind it.
  double min = -1, max = 1;      // "scale": its settings.
  size_t copied = 0;             // "copy": the index of the leaf that it copies, behind all others.
};

// The inputs of a graph, and what networks see of them.
class ObservationGraph {
 public:
  // `shown`: the leaves that become inputs once they are asked for. `graph` must outlive it.
  ObservationGraph(std::vector<SpaceLeaf> shown, std::vector<ObservationStep> steps, OnnxGraph* graph)
      : shown_(std::move(shown)), steps_(std::move(steps)), graph_(graph) {}

  // A leaf behind all steps, [rows, …].
  OnnxValue Leaf(size_t leaf) { return Behind(steps_.size(), leaf); }

 private:
  // Behind the first `count` steps.
  OnnxValue Behind(size_t count, size_t leaf);
  OnnxValue Changed(const ObservationStep& step, const SpaceLeaf& before, const SpaceLeaf& after,
                    const OnnxValue& value);

  const std::vector<SpaceLeaf> shown_;
  const std::vector<ObservationStep> steps_;
  OnnxGraph* const graph_;
  std::map<std::pair<size_t, size_t>, OnnxValue> values_;  // By count and leaf.
};

}  // namespace waggle
