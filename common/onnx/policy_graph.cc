#include "common/onnx/policy_graph.h"

#include <algorithm>
#include <limits>

#include "common/base/check.h"
#include "common/config/plan/head_kinds.h"

namespace waggle {
namespace {

// True if an element is stretched to its bounds: as in actor/acting/action_scaling.cc.
bool HasBothBounds(const SpaceLeaf& action, int64_t element) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return action.array.dtype == DType::kFloat32 && action.Low(element) >= -kLargest && action.High(element) <= kLargest;
}

std::vector<int64_t> RowsOf(const std::vector<int64_t>& shape) {
  std::vector<int64_t> rows = {kRows};
  rows.insert(rows.end(), shape.begin(), shape.end());
  return rows;
}

}  // namespace

PolicyGraph::PolicyGraph(const PolicySource* source, const ExperimentPlan* plan, const SavedParameters* weights)
    : environment_(source->environment),
      plan_(*plan),
      action_(JointActionOf(source->environment)),
      weights_(*weights),
      observations_(source->Inputs(), source->steps, &graph_) {}

NetworkGraph& PolicyGraph::net(const std::string& name) {
  std::unique_ptr<NetworkGraph>& net = nets_[name];
  if (net == nullptr) {
    const std::vector<const NetworkPlan*> acting = plan_.acting();
    const auto found =
        std::find_if(acting.begin(), acting.end(), [&](const NetworkPlan* plan) { return plan->name == name; });
    WAGGLE_CHECK(found != acting.end(), "an exported policy asks for a network that does not act by its own plan");
    net = std::make_unique<NetworkGraph>(*found, acting.size() == 1, &weights_, &graph_);
  }
  return *net;
}

NetworkInputs PolicyGraph::InputsOf(const NetworkGraph& net, const std::vector<size_t>& leaves) {
  NetworkInputs inputs;
  const size_t count = leaves.empty() ? environment_.observations.size() : leaves.size();
  for (size_t i = 0; i < count; ++i) {
    const bool seen = net.plan().Sees(static_cast<int64_t>(i));
    inputs.observation.push_back(seen ? observations_.Leaf(leaves.empty() ? i : leaves[i]) : OnnxValue());
  }
  return inputs;
}

OnnxValue PolicyGraph::State(int64_t size) {
  state_size_ = size;
  return graph_.Input(kState, DType::kFloat32, {kRows, size});
}

OnnxValue PolicyGraph::Scaled(const SpaceLeaf& leaf, const OnnxValue& elements) {
  const int64_t count = leaf.array.NumElements();
  std::vector<double> low, high, low_bound, high_bound;
  bool any = false;
  bool all = true;
  for (int64_t i = 0; i < count; ++i) {
    const bool both = HasBothBounds(leaf, i);
    any = any || both;
    all = all && both;
    low.push_back(both ? leaf.Low(i) : -1);
    high.push_back(both ? leaf.High(i) : 1);
  }
  if (!any) {
    return elements;
  }
  const auto number = [&](double value) { return graph_.Doubles({value}, {}); };
  const OnnxValue chosen = graph_.Clip(graph_.Cast(elements, DType::kFloat64), number(-1), number(1));
  const OnnxValue share = graph_.Div(graph_.Add(chosen, number(1)), number(2));
  const OnnxValue scaled =
      graph_.Cast(graph_.Add(graph_.Mul(graph_.Sub(number(1), share), graph_.Doubles(low, {count})),
                             graph_.Mul(share, graph_.Doubles(high, {count}))),
                  DType::kFloat32);
  if (all) {
    return scaled;
  }
  std::vector<int64_t> bounded;
  for (int64_t i = 0; i < count; ++i) {
    bounded.push_back(HasBothBounds(leaf, i) ? 1 : 0);
  }
  return graph_.Where(graph_.Cast(graph_.Ints(bounded, {count}), DType::kBool), scaled, elements);
}

void PolicyGraph::WriteAction(const JointAction::Part& part, const PolicyDecision& decision) {
  const SpaceLeaf& leaf = environment_.actions[part.leaf];
  OnnxValue elements;
  if (part.choices > 0) {
    elements = graph_.Slice(*decision.choices, 1, part.first, part.elements);
  } else {
    elements = Scaled(leaf, graph_.Slice(*decision.reals, 1, part.first - action_.num_choosing(), part.elements));
  }
  graph_.Output(leaf.array.name, graph_.Reshape(graph_.Cast(elements, leaf.array.dtype), RowsOf(leaf.array.shape)));
}

void PolicyGraph::Act(const PolicyDecision& decision) {
  std::vector<JointAction::Part> parts = action_.parts;
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.leaf < b.leaf; });
  for (const JointAction::Part& part : parts) {
    WriteAction(part, decision);
  }
  for (const auto& [name, value] : decision.more) {
    graph_.Output(name, value);
  }
}

PolicyDecision DecideByHead(OnnxGraph* graph, const NetworkPlan& plan, const HeadPlan& head,
                            NetworkGraph::Output* output) {
  PolicyDecision decision;
  if (GivesChoicesValues(head.kind)) {
    const OnnxValue q = output->q(head.name);
    decision.choices = BestChoices(graph, q, plan.action.num_values);
    decision.more = {{"q", q}};
    return decision;
  }
  const PolicyValues policy = output->policy(head.name);
  decision.choices = policy.choices;
  decision.reals = policy.reals;
  if (policy.logits.has_value()) {
    decision.more.emplace_back("logits", *policy.logits);
  }
  if (policy.mean.has_value()) {
    decision.more.emplace_back("mean", *policy.mean);
    decision.more.emplace_back("stddev", *policy.stddev);
  }
  return decision;
}

}  // namespace waggle
