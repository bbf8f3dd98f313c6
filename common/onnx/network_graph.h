#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/plan/network_plan.h"
#include "common/onnx/choices_graph.h"
#include "common/onnx/layer_graph.h"
#include "common/onnx/onnx_graph.h"
#include "common/rl/checkpoint/saved_parameters.h"

namespace waggle {

// The inputs of one call of a network.
struct NetworkInputs {
  // By leaf of the network's environment; without a name for leaves that are no inputs of the graph.
  std::vector<OnnxValue> observation;
  OnnxValue action = {};  // [rows, …], if the network takes it.
  // The plan's, [rows, width]; those that multiply may be [samples, width], the same for all rows.
  std::vector<OnnxValue> extra = {};
  // The state of the core that the wanted head depends on, [rows, state_size]; without a name if there is none.
  OnnxValue state = {};
};

// A policy's distribution of actions: what its parameters say of each row, [rows, …] or [members, rows, …].
struct PolicyValues {
  // Logarithms of the probabilities of all elements' choices, side by side; kIllegalLogProb for illegal ones.
  std::optional<OnnxValue> logits;
  std::optional<OnnxValue> mean;    // The mean of real elements; a tanh-normal's is before tanh.
  std::optional<OnnxValue> stddev;  // Likewise.
  // The most likely action: choices, int64 [rows, choosing elements], and real elements, in [-1, 1] if they are
  // bounded.
  std::optional<OnnxValue> choices;
  std::optional<OnnxValue> reals;
};

// Writes a network into a graph: what Network and Output (common/rl/kit/net.h) compute for acting.
class NetworkGraph {
 public:
  // The arguments must outlive it. `is_alone`: no other network is published, so that the names of parameters have no
  // network's name before them.
  NetworkGraph(const NetworkPlan* plan, bool is_alone, const SavedParameters* weights, OnnxGraph* graph);

  const NetworkPlan& plan() const { return plan_; }

  // Floats of the state of the core that a head depends on; 0: none.
  int64_t StateSize(const std::string& head) const;

  // One call, whose parts are written when they are asked for.
  class Output {
   public:
    Output(NetworkGraph* network, NetworkInputs inputs) : network_(network), inputs_(std::move(inputs)) {}

    // As those of waggle::Output.
    OnnxValue q(const std::string& head);
    OnnxValue value(const std::string& head);
    OnnxValue vector(const std::string& head);
    PolicyValues policy(const std::string& head);
    // True for legal choices of all elements, bool [rows, choices]; nothing without masks.
    const std::optional<OnnxValue>& mask();
    // After the call; must be asked for after a head with a core.
    const OnnxValue& state() const { return state_; }

   private:
    OnnxValue Values(const HeadPlan& head);
    GraphRows Features(size_t trunk);
    GraphRows Encoded(const EncoderPlan& encoder);
    GraphRows Joined(const TrunkPlan& trunk, const std::vector<GraphRows>& parts);
    GraphRows Multiplied(const TrunkPlan& trunk, GraphRows features);
    OnnxValue Normalized(size_t leaf, const OnnxValue& input);
    OnnxGraph& graph() { return *network_->graph_; }

    NetworkGraph* network_;
    NetworkInputs inputs_;
    std::map<size_t, GraphRows> features_;  // By trunk.
    OnnxValue state_;
    bool has_mask_ = false;
    std::optional<OnnxValue> mask_;
  };
  Output Call(NetworkInputs inputs) { return {this, std::move(inputs)}; }

 private:
  const HeadPlan& Head(const std::string& name) const;

  const NetworkPlan& plan_;
  OnnxGraph* const graph_;
  LayerGraph layers_;
};

}  // namespace waggle
