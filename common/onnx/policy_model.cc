#include "common/onnx/policy_model.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/build_info.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/plan/acting_head.h"
#include "common/onnx/policy_facts.h"
#include "common/onnx/policy_graph.h"
#include "common/rl/checkpoint/saved_parameters.h"

namespace waggle {
namespace {

// The limit of a protobuf message, with room for all but the parameters.
constexpr int64_t kMostBytes = (int64_t{1} << 31) - (int64_t{1} << 24);

// The names of what is published, in its order.
std::vector<std::string> PublishedBy(const ExperimentPlan& plan) {
  std::vector<std::string> names;
  for (const NetworkPlan* const network : plan.acting()) {
    names.push_back(network->name);
  }
  for (const ScalarNeed& scalar : plan.algorithm.scalars) {
    if (scalar.acts) {
      names.push_back(scalar.name);
    }
  }
  return names;
}

absl::Status CheckWeights(const SavedWeights& weights, const ExperimentPlan& plan, const SavedParameters& parameters) {
  if (weights.snapshot.has_value() && weights.snapshot->network_hash != plan.acting_hash()) {
    return absl::FailedPreconditionError(absl::StrCat("the weights are of another network: its hash is ",
                                                      absl::StrFormat("%016x", weights.snapshot->network_hash),
                                                      ", wanted ", absl::StrFormat("%016x", plan.acting_hash())));
  }
  int64_t bytes = 0;
  for (const NetworkPlan* const network : plan.acting()) {
    for (const ArraySpec& wanted : network->parameters) {
      const std::string name = absl::StrCat(network->name, ".", wanted.name);
      const auto found = parameters.find(name);
      if (found == parameters.end()) {
        return absl::FailedPreconditionError(absl::StrCat("the weights are of another network: they have no ", name));
      }
      const ArraySpec& got = found->second.spec;
      if (got.dtype != wanted.dtype || got.shape != wanted.shape ||
          found->second.data.size() != static_cast<size_t>(wanted.NumBytes())) {
        return absl::FailedPreconditionError(absl::StrCat("the weights are of another network: got ", name, " as ",
                                                          got.DebugString(), "; wanted ", wanted.DebugString()));
      }
      if (FindNonFinite(got.dtype, InOneRun(found->second.data).get(), got.NumElements()) >= 0) {
        return absl::InvalidArgumentError(absl::StrCat(name, ": got numbers that are not finite; wanted finite ones"));
      }
      bytes += wanted.NumBytes();
    }
  }
  if (bytes > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the networks that act: got ", bytes, " bytes; wanted at most ",
                                                   kMostBytes, ", for an ONNX file"));
  }
  return absl::OkStatus();
}

// The decision of the one network that acts, by its acting head.
absl::StatusOr<PolicyDecision> DecideByNetwork(PolicyGraph* policy) {
  const ExperimentPlan& plan = policy->plan();
  const std::vector<const NetworkPlan*> acting = plan.acting();
  const HeadPlan* head = nullptr;
  if (acting.size() == 1) {
    const auto need = std::find_if(plan.algorithm.networks.begin(), plan.algorithm.networks.end(),
                                   [&](const NetworkNeed& one) { return one.name == acting[0]->name; });
    head = ActingHead(*need, *acting[0]);
  }
  if (head == nullptr) {
    return absl::InvalidArgumentError("the algorithm has no network, or several, that choose actions");
  }
  if (acting[0]->members.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the network ", acting[0]->name, " has members, and no policy that says which of them acts"));
  }
  NetworkGraph& net = policy->net(acting[0]->name);
  NetworkInputs inputs = policy->InputsOf(net);
  const int64_t state_size = net.StateSize(head->name);
  if (state_size > 0) {
    inputs.state = policy->State(state_size);
  }
  NetworkGraph::Output output = net.Call(std::move(inputs));
  PolicyDecision decision = DecideByHead(&policy->graph(), *acting[0], *head, &output);
  if (state_size > 0) {
    policy->SetNextState(output.state());
  }
  return decision;
}

absl::StatusOr<PolicyDecision> Decide(const Experiment& experiment, const PolicyForms& forms, PolicyGraph* policy) {
  if (!policy->plan().algorithm.own_policy) {
    return DecideByNetwork(policy);
  }
  const absl::StatusOr<const PolicyForm*> form = forms.Find(experiment.algorithm);
  if (!form.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("algorithm ", experiment.algorithm, " acts by a policy of its own, which has no form in ONNX"));
  }
  for (const NetworkPlan* const network : policy->plan().acting()) {
    if (network->state_size > 0) {
      return absl::InvalidArgumentError(absl::StrCat("networks.", network->name,
                                                     ".core: got one; wanted none, because algorithm ",
                                                     experiment.algorithm, " is exported without"));
    }
  }
  return (**form)(*experiment.algorithm_options, policy);
}

}  // namespace

absl::StatusOr<onnx::ModelProto> PolicyModel(const PolicySource& source, const AlgorithmDefinitions& algorithms,
                                             const PolicyForms& forms) {
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(source.experiment, source.environment, algorithms));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(source.experiment, source.environment, algorithms));
  const SavedParameters parameters = ParametersOf(source.weights, PublishedBy(plan));
  WAGGLE_RETURN_IF_ERROR(CheckWeights(source.weights, plan, parameters));
  PolicyGraph policy(&source, &plan, &parameters);
  WAGGLE_ASSIGN_OR_RETURN(const PolicyDecision decision, Decide(source.experiment, forms, &policy));
  policy.Act(decision);
  onnx::ModelProto model;
  model.set_ir_version(OnnxGraph::kFormat);
  model.set_producer_name("waggle");
  model.set_producer_version(kVersion);
  model.set_doc_string(absl::StrCat("The greedy policy of ", source.experiment.experiment.name, ", by ",
                                    source.experiment.algorithm, " for ", source.environment.name));
  model.add_opset_import()->set_version(OnnxGraph::kOperators);
  AddPolicyFacts(source, plan, policy.state_size(), &model);
  *model.mutable_graph() = policy.graph().Take();
  model.mutable_graph()->set_name("policy");
  return model;
}

}  // namespace waggle
