#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/config/plan/network_plan.h"
#include "common/onnx/onnx_graph.h"
#include "common/rl/checkpoint/saved_parameters.h"

namespace waggle {

// Features of rows in a graph, [rows, …], or [members, rows, …] if `by_member`.
struct GraphRows {
  OnnxValue value;
  bool by_member = false;

  // The shape of one row.
  std::vector<int64_t> row_shape() const { return {value.shape.begin() + (by_member ? 2 : 1), value.shape.end()}; }
};

// Writes a network's layers into a graph: what LayerStack and RecurrentCore compute without learning, with noisy layers
// at their means and batch norms by their running statistics.
class LayerGraph {
 public:
  // The arguments must outlive it. `prefix` is before a parameter's name in `weights`, which has all of them, and
  // `shown` before its name in the graph.
  LayerGraph(const NetworkPlan* plan, std::string prefix, std::string shown, const SavedParameters* weights,
             OnnxGraph* graph)
      : plan_(plan), prefix_(std::move(prefix)), shown_(std::move(shown)), weights_(weights), graph_(graph) {}

  GraphRows Layers(const std::vector<LayerPlan>& layers, GraphRows rows);

  struct CoreStep {
    OnnxValue output;  // [rows, units].
    OnnxValue state;   // [rows, state_size].
  };
  // A step of a core without members. `state` is its own, [rows, state_size].
  CoreStep Core(const CorePlan& core, const OnnxValue& features, const OnnxValue& state);

  // The plan's parameter of this index. Only those that are used come into the graph.
  OnnxValue Parameter(int64_t index);
  // Rows as vectors.
  GraphRows Flat(GraphRows rows);

 private:
  GraphRows Layer(const LayerPlan& layer, GraphRows rows);
  GraphRows Dense(const LayerPlan& layer, GraphRows rows);
  GraphRows Conv(const LayerPlan& layer, const GraphRows& rows);
  GraphRows LayerNorm(const LayerPlan& layer, const GraphRows& rows);
  GraphRows BatchNorm(const LayerPlan& layer, const GraphRows& rows);
  GraphRows Embedding(const LayerPlan& layer, const GraphRows& rows);
  GraphRows OneHot(const LayerPlan& layer, const GraphRows& rows);
  OnnxValue Activated(Activation activation, const OnnxValue& value);
  // Each element's choice, int64 [rows, elements].
  OnnxValue Choices(const GraphRows& rows);
  // A parameter of members, [members, …], as [members, 1, …], for all rows.
  OnnxValue ForRows(const OnnxValue& parameter);

  const NetworkPlan* const plan_;
  const std::string prefix_;
  const std::string shown_;
  const SavedParameters* const weights_;
  OnnxGraph* const graph_;
  std::map<int64_t, OnnxValue> parameters_;
};

}  // namespace waggle
