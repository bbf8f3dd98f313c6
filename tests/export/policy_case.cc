#include "tests/export/policy_case.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "actor/acting/action_scaling.h"
#include "actor/environments/environment.h"
#include "actor/environments/open_environment.h"
#include "cli/export/exported_transforms.h"
#include "common/base/random.h"
#include "common/config/spec/agent_view.h"
#include "common/nn/network.h"
#include "common/nn/torch_compat.h"
#include "common/nn/weights_codec.h"
#include "common/onnx/policy_model.h"
#include "common/rl/acting/acting_parameters.h"
#include "common/rl/acting/network_policy.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/policy_forms.h"
#include "common/rl/kit/net.h"
#include "nlohmann/json.hpp"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

using torch::Tensor;

constexpr int64_t kSteps = 8;
constexpr int64_t kLanes = 16;

const AlgorithmDefinitions& Definitions() {
  static const auto* const definitions = new AlgorithmDefinitions(BuiltinAlgorithmDefinitions());
  return *definitions;
}

const AlgorithmImplementations& Implementations() {
  static const auto* const implementations = new AlgorithmImplementations(BuiltinAlgorithms());
  return *implementations;
}

const PolicyForms& Forms() {
  static const auto* const forms = new PolicyForms(BuiltinPolicyForms());
  return *forms;
}

// Arrays of all steps, in one file.
class CaseFile {
 public:
  // Adds a step's [lanes, …].
  void Add(const ArraySpec& spec, const void* data) {
    Array& array = arrays_[spec.name];
    array.spec = spec;
    array.bytes.append(static_cast<const char*>(data), static_cast<size_t>(kLanes * spec.NumBytes()));
  }
  void AddTensor(const std::string& name, const Tensor& values) {
    const Tensor row = values.to(torch::kFloat32).contiguous();
    Add({name, DType::kFloat32, row[0].sizes().vec()}, row.data_ptr());
  }

  void Write(const std::string& algorithm, const std::string& path) const {
    std::ofstream data(path + ".bin", std::ios::binary);
    nlohmann::json list = nlohmann::json::array();
    size_t offset = 0;
    for (const auto& [name, array] : arrays_) {
      std::vector<int64_t> shape = {kSteps, kLanes};
      shape.insert(shape.end(), array.spec.shape.begin(), array.spec.shape.end());
      list.push_back(
          {{"name", name}, {"dtype", std::string(DTypeName(array.spec.dtype))}, {"shape", shape}, {"offset", offset}});
      data << array.bytes;
      offset += array.bytes.size();
    }
    std::ofstream(path + ".json") << nlohmann::json{{"algorithm", algorithm}, {"arrays", list}};
    REQUIRE(data.flush());
  }

 private:
  struct Array {
    ArraySpec spec;
    std::string bytes;
  };
  std::map<std::string, Array> arrays_;
};

// Moves all parameters away from their first values, with which heads may tie, and statistics from 0 and 1.
void Draw(Network* network) {
  const torch::NoGradGuard no_grad;
  const NetworkPlan& plan = network->plan();
  Tensor all = network->parameters().values();
  all.add_(torch::randn_like(all) * 0.1);
  const auto values = [&](int64_t index) { return network->parameters().value_views()[static_cast<size_t>(index)]; };
  for (const NormalizerPlan& normalizer : plan.normalizers) {
    values(normalizer.mean).normal_();
    values(normalizer.deviation).uniform_(0.1, 2);
  }
  ForEachLayer(plan, [&](const LayerPlan& layer) {
    if (layer.statistics >= 0) {
      values(layer.statistics).normal_(0, 0.3);
      values(layer.statistics + 1).uniform_(0.2, 2);
    }
  });
}

// [lanes, …] of a leaf.
Tensor DrawLeaf(const SpaceLeaf& leaf) {
  std::vector<int64_t> shape = {kLanes};
  shape.insert(shape.end(), leaf.array.shape.begin(), leaf.array.shape.end());
  const torch::ScalarType type = ToScalarType(leaf.array.dtype);
  if (leaf.kind == SpaceKind::kMultiBinary) {
    return torch::rand(shape) < 0.5;  // Some masks allow nothing.
  }
  if (leaf.kind == SpaceKind::kDiscrete) {
    return torch::randint(leaf.num_values[0], shape, torch::kInt64);
  }
  if (leaf.kind == SpaceKind::kMultiDiscrete) {
    const Tensor most = torch::tensor(leaf.num_values, torch::kFloat64);
    return (torch::rand(shape, torch::kFloat64) * most).floor().to(torch::kInt64);
  }
  return IsFloatingPoint(leaf.array.dtype) ? (torch::randn(shape) * 1.5).to(type)
                                           : torch::randint(256, shape, torch::kInt64).to(type);
}

// The numbers of the acting head of the only network that acts, as the export names them.
std::map<std::string, Tensor> HeadValues(const Output& out, const HeadPlan& head, const JointAction& action) {
  switch (head.kind) {
    case HeadKind::kQ:
    case HeadKind::kCategoricalQ:
    case HeadKind::kQuantileQ:
      return {{"q", out.q(head.name)}};
    case HeadKind::kCategorical:
      return action.is_scalar ? std::map<std::string, Tensor>{{"logits", out.policy(head.name).LogProbabilities()}}
                              : std::map<std::string, Tensor>{};
    case HeadKind::kNormal:
    case HeadKind::kTanhNormal:
    case HeadKind::kMixed:
      return {{"mean", out.policy(head.name).mean()}, {"stddev", out.policy(head.name).stddev()}};
    default:
      return {};
  }
}

// Acts and remembers as NetworkPolicy does for a head, to see the head's own numbers.
class HeadProbe {
 public:
  HeadProbe(const Network* network, const HeadPlan* head)
      : network_(network), head_(head), state_(torch::zeros({kLanes, network->plan().state_size})) {}

  std::map<std::string, Tensor> operator()(const Observations& rows, const Tensor& first) {
    const torch::NoGradGuard no_grad;
    if (state_.size(1) == 0) {
      return HeadValues(Forward(*network_, rows), *head_, network_->plan().action);
    }
    const Output out = Unroll(*network_, rows, {}, state_.masked_fill(first.unsqueeze(1), 0));
    state_ = out.core_state();
    return HeadValues(out, *head_, network_->plan().action);
  }

 private:
  const Network* network_;
  const HeadPlan* head_;
  Tensor state_;
};

// The same for agents that act by the heads of networks without members.
class AgentsProbe {
 public:
  AgentsProbe(const AlgorithmPlan& plan, const EnvironmentSpec& environment,
              const std::vector<std::unique_ptr<Network>>& networks)
      : plan_(plan), environment_(environment), networks_(networks) {}

  std::map<std::string, Tensor> operator()(const Observations& rows) const {
    const torch::NoGradGuard no_grad;
    std::map<std::string, Tensor> all;
    for (const std::unique_ptr<Network>& network : networks_) {
      const NetworkPlan& own = network->plan();
      const auto need = std::find_if(plan_.networks.begin(), plan_.networks.end(),
                                     [&own](const NetworkNeed& one) { return one.name == own.name; });
      const HeadPlan* const head = own.FindHead("q") != nullptr ? own.FindHead("q") : own.FindHead("policy");
      if (head == nullptr || own.members.has_value()) {
        continue;
      }
      for (const std::string& agent : need->agents) {
        Observations seen;
        for (const size_t leaf : ViewOf(environment_, agent).leaves) {
          seen.push_back(rows[leaf]);
        }
        for (const auto& [what, values] : HeadValues(Forward(*network, seen), *head, own.action)) {
          all[NameOf(agent, what)] = values;
        }
      }
    }
    return all;
  }

 private:
  const AlgorithmPlan& plan_;
  const EnvironmentSpec& environment_;
  const std::vector<std::unique_ptr<Network>>& networks_;
};

}  // namespace

ModelSnapshot DrawWeights(const ExperimentPlan& plan, std::vector<std::unique_ptr<Network>>* networks) {
  torch::manual_seed(7);
  for (const NetworkPlan* const acting : plan.acting()) {
    networks->push_back(ValueOf(Network::Create(*acting, torch::kCPU, 7, torch::kFloat32, /*learns=*/false)));
    Draw(networks->back().get());
  }
  std::map<std::string, FlatParameters> scalars = ValueOf(NewActingScalars(plan.algorithm, torch::kCPU));
  return ValueOf(EncodeWeights(ActingParameters(plan.algorithm, *networks, &scalars), plan.acting_hash()));
}

namespace {

// The observations of a step, [lanes, …] a leaf.
struct StepRows {
  Observations shown;  // The inputs of the exported policy.
  Observations seen;   // The same for the C++ policy.
};

void WriteCase(const std::string& name, PolicySource source, const std::function<StepRows(int64_t step)>& draw,
               const std::string& folder) {
  INFO(name);
  const Experiment& experiment = source.experiment;
  const EnvironmentSpec& environment = source.environment;
  const ExperimentPlan plan = ValueOf(PlanExperiment(experiment, environment, Definitions()));
  std::vector<std::unique_ptr<Network>> networks;
  source.weights.snapshot = DrawWeights(plan, &networks);
  const onnx::ModelProto model = ValueOf(PolicyModel(source, Definitions(), Forms()));
  const std::string path = folder + "/" + name;
  std::ofstream file(path + ".onnx", std::ios::binary);
  REQUIRE(model.SerializeToOstream(&file));

  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &Definitions();
  context.implementations = &Implementations();
  context.environment = environment;
  context.lanes = context.all_lanes = kLanes;
  const std::unique_ptr<Policy> policy = ValueOf(NetworkPolicy::Create(context));
  REQUIRE_OK(policy->LoadWeights(*source.weights.snapshot));
  const bool by_head = !plan.algorithm.own_policy;
  std::unique_ptr<HeadProbe> probe;
  std::unique_ptr<AgentsProbe> agents;
  if (!by_head && plan.acting()[0]->state_size == 0) {
    agents = std::make_unique<AgentsProbe>(plan.algorithm, environment, networks);
  }
  if (by_head) {
    for (const HeadPlan& head : plan.acting()[0]->heads) {
      if (head.kind != HeadKind::kValue && head.kind != HeadKind::kVector && head.kind != HeadKind::kQuantiles) {
        probe = std::make_unique<HeadProbe>(networks[0].get(), &head);
      }
    }
  }

  CaseFile cases;
  std::vector<int64_t> slots;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    slots.push_back(lane);
  }
  for (int64_t step = 0; step < kSteps; ++step) {
    const Tensor first = step == 0 ? torch::ones({kLanes}, torch::kBool) : torch::rand({kLanes}) < 0.2;
    const auto [shown, rows] = draw(step);
    for (size_t leaf = 0; leaf < shown.size(); ++leaf) {
      cases.Add(source.Inputs()[leaf].array, shown[leaf].data_ptr());
    }
    std::vector<const void*> pointers;
    for (const Tensor& leaf : rows) {
      pointers.push_back(leaf.data_ptr());
    }
    cases.Add({"first", DType::kBool, {}}, first.data_ptr());
    PolicyInput input;
    input.slots = slots;
    input.observations = pointers;
    input.first = static_cast<const uint8_t*>(first.data_ptr());
    PolicyOutput output;
    std::vector<std::vector<char>> actions;
    for (const SpaceLeaf& leaf : environment.actions) {
      actions.emplace_back(static_cast<size_t>(kLanes * leaf.array.NumBytes()));
    }
    for (std::vector<char>& action : actions) {
      output.actions.push_back(action.data());
    }
    std::vector<std::vector<char>> columns;
    for (const ArraySpec& column : policy->columns()) {
      columns.emplace_back(static_cast<size_t>(kLanes * column.NumBytes()));
    }
    for (std::vector<char>& column : columns) {
      output.columns.push_back(column.data());
    }
    REQUIRE_OK(policy->Act(input, ActMode::kGreedy, &output));
    for (size_t i = 0; i < actions.size(); ++i) {
      const SpaceLeaf& leaf = environment.actions[i];
      if (IsScaledAction(leaf)) {
        auto* const numbers = reinterpret_cast<float*>(actions[i].data());
        const std::vector<float> chosen(numbers, numbers + kLanes * leaf.array.NumElements());
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          const int64_t at = lane * leaf.array.NumElements();
          ScaleAction(leaf, chosen.data() + at, numbers + at);
        }
      }
      cases.Add(leaf.array, actions[i].data());
    }
    if (probe != nullptr) {
      for (const auto& [what, values] : (*probe)(rows, first)) {
        cases.AddTensor(what, values);
      }
    }
    if (agents != nullptr) {
      for (const auto& [what, values] : (*agents)(rows)) {
        cases.AddTensor(what, values);
      }
    }
  }
  cases.Write(experiment.algorithm, path);
}

// The first rows of new lanes, which follow from `seed`.
Observations FirstRows(const EnvironmentOptions& options, uint64_t seed) {
  LaneOptions lanes;
  lanes.lanes = kLanes;
  lanes.in_order = true;
  const std::unique_ptr<VectorEnvironment> environment =
      ValueOf(OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(seed), StopToken()));
  REQUIRE_OK(environment->Reset());
  const ReadyLanes ready = ValueOf(environment->Recv(kLanes, StopToken()));
  Observations rows;
  for (size_t i = 0; i < ready.observations.size(); ++i) {
    const ArraySpec& array = environment->spec().observations[i].array;
    std::vector<int64_t> shape = {kLanes};
    shape.insert(shape.end(), array.shape.begin(), array.shape.end());
    rows.push_back(
        torch::from_blob(const_cast<void*>(ready.observations[i]), shape, ToScalarType(array.dtype)).clone());
  }
  return rows;
}

}  // namespace

void WritePolicyCase(const std::string& name, const Experiment& experiment, const EnvironmentSpec& environment,
                     const std::string& folder) {
  PolicySource source;
  source.experiment = experiment;
  source.environment = environment;
  const auto draw = [&environment](int64_t /*step*/) {
    Observations rows;
    for (const SpaceLeaf& leaf : environment.observations) {
      rows.push_back(DrawLeaf(leaf).contiguous());
    }
    return StepRows{rows, rows};
  };
  WriteCase(name, std::move(source), draw, folder);
}

void WriteTransformedCase(const std::string& name, const Experiment& experiment, const std::string& folder) {
  PolicySource source;
  source.experiment = experiment;
  const EnvironmentOptions& options = experiment.evaluation.environment;
  const EnvironmentDefinitions environments = BuiltinEnvironments();
  const EnvironmentSpec own = ValueOf(ValueOf(environments.Find(options.name))->spec(options));
  REQUIRE_OK(DivideTransforms(options, own, &source));
  REQUIRE(source.transforms_json == "[]");
  EnvironmentOptions bare = options;
  bare.transforms = "[]";
  const auto draw = [&](int64_t step) {
    const auto seed = static_cast<uint64_t>(step);
    return StepRows{FirstRows(bare, seed), FirstRows(options, seed)};
  };
  WriteCase(name, std::move(source), draw, folder);
}

}  // namespace waggle::testing
