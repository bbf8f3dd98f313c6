#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/experiment_plan.h"
#include "common/config/spec/environment_spec.h"
#include "common/config/spec/joint_action.h"
#include "common/onnx/network_graph.h"
#include "common/onnx/observation_graph.h"
#include "common/onnx/onnx_graph.h"
#include "common/onnx/policy_source.h"
#include "common/rl/checkpoint/saved_parameters.h"

namespace waggle {

// A greedy policy's decision for each row.
struct PolicyDecision {
  std::optional<OnnxValue> choices;  // int64 [rows, choosing elements of the joint action].
  std::optional<OnnxValue> reals;    // float32 [rows, real elements], in [-1, 1] where these are bounded.
  // More outputs, by name: what the decision depends on, such as "q".
  std::vector<std::pair<std::string, OnnxValue>> more = {};
};

// The graph of a policy: observations come in, networks are called, and actions of the environment go out. Inputs and
// outputs have the names of the environment's leaves; all have a first dimension of rows.
class PolicyGraph {
 public:
  static constexpr char kState[] = "state";
  static constexpr char kNextState[] = "next_state";

  // The arguments must outlive it. `weights` has all parameters of the networks that act.
  PolicyGraph(const PolicySource* source, const ExperimentPlan* plan, const SavedParameters* weights);

  const EnvironmentSpec& environment() const { return environment_; }
  const ExperimentPlan& plan() const { return plan_; }
  const JointAction& action() const { return action_; }
  OnnxGraph& graph() { return graph_; }

  // A network that acts, by its name in the plan.
  NetworkGraph& net(const std::string& name);
  // The observations that a network sees. `leaves`: the index into the environment's observations of each leaf of its
  // view; empty for the whole environment.
  NetworkInputs InputsOf(const NetworkGraph& net, const std::vector<size_t>& leaves = {});
  // The memory of a policy, float32 [rows, size]: all zeros when an episode begins. Called once at most.
  OnnxValue State(int64_t size);
  int64_t state_size() const { return state_size_; }
  void SetNextState(const OnnxValue& state) { graph_.Output(kNextState, state); }

  // Writes the outputs.
  void Act(const PolicyDecision& decision);

 private:
  void WriteAction(const JointAction::Part& part, const PolicyDecision& decision);
  // A real action's elements in the environment's bounds, as ScaleAction (actor/acting/action_scaling.h).
  OnnxValue Scaled(const SpaceLeaf& leaf, const OnnxValue& elements);

  const EnvironmentSpec& environment_;
  const ExperimentPlan& plan_;
  const JointAction action_;
  const SavedParameters& weights_;
  OnnxGraph graph_;
  std::map<std::string, std::unique_ptr<NetworkGraph>> nets_;
  ObservationGraph observations_;
  int64_t state_size_ = 0;
};

// The decision of one head, as NetworkPolicy takes it: the best of its values, or its distribution's mode.
PolicyDecision DecideByHead(OnnxGraph* graph, const NetworkPlan& plan, const HeadPlan& head,
                            NetworkGraph::Output* output);

}  // namespace waggle
