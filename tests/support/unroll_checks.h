#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/config/spec/joint_action.h"
#include "tests/support/algorithm_checks.h"

// Checks of the updates of algorithms that learn from unrolls.

namespace waggle::testing {

// An actor-critic on a smooth network of one hidden layer. The value shares nothing with the policy, so targets and
// advantages do not change while the policy's parameters move.
inline std::unique_ptr<AlgorithmTrainee> ActorCriticOf(const std::string& algorithm, const EnvironmentSpec& environment,
                                                       torch::ScalarType dtype = torch::kFloat64, int64_t seed = 1,
                                                       int64_t units = 5) {
  return TraineeOn("{actor_critic: {torso: [{type: mlp, units: [" + std::to_string(units) +
                       "], activation: tanh}], heads: {policy: {gain: 1}, value: {shares: nothing}}}}",
                   algorithm, environment, dtype, seed);
}

// Three actions, one of each kind. The first has a mask.
inline EnvironmentSpec SeveralActions() {
  EnvironmentSpec environment = EnvironmentOf(3, Discrete("action/gear", 4));
  environment.observations.push_back(MultiBinary("action_mask/gear", {4}));
  environment.actions.push_back(Box("action/steer", DType::kFloat32, {}, -1, 1));
  environment.actions.push_back(MultiBinary("action/lights", {2}));
  return environment;
}

// Environments with a choice, with real numbers, and with SeveralActions.
inline std::vector<EnvironmentSpec> AllKindsOfActions() {
  return {EnvironmentOf(3, Discrete("action", 4)), EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1)),
          SeveralActions()};
}

// True if an element of the group is a parameter of the value.
inline bool IsValues(const ParameterGroup& group, int64_t element) {
  for (const ArraySpec& parameter : group.parameters().layout()) {
    if (element < parameter.NumElements()) {
      return absl::StartsWith(parameter.name, "heads.value.");
    }
    element -= parameter.NumElements();
  }
  return false;
}

// Four unrolls of five steps. Within them an episode terminates, one is truncated, and one has its last row in front;
// at their ends one terminates, one is truncated, and two continue. Values that must be ignored are NaN, or a choice.
// If an action has a mask, half of the choices and the one taken are legal.
inline TensorBatch RandomUnrolls(const EnvironmentSpec& environment, uint64_t seed,
                                 torch::ScalarType dtype = torch::kFloat64) {
  torch::manual_seed(seed);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  TensorBatch batch;
  batch.size = 4;
  batch.table_items = 4;
  batch.fields[kItemLength] = torch::full({4}, 6, torch::kInt64);
  batch.fields[kStepType] =
      torch::tensor({{0, 1, 2, 0, 1, 1}, {1, 1, 2, 0, 1, 1}, {2, 0, 1, 1, 1, 2}, {0, 1, 1, 1, 1, 2}}, torch::kInt32);
  batch.fields[kDiscount] = torch::tensor({{1.0, 0.0, nan, 1.0, 1.0, nan},
                                           {1.0, 1.0, nan, 1.0, 1.0, nan},
                                           {nan, 1.0, 1.0, 1.0, 0.0, nan},
                                           {1.0, 1.0, 1.0, 1.0, 1.0, nan}},
                                          dtype);
  const torch::Tensor nothing = torch::isnan(batch.at(kDiscount));
  batch.fields[kObservation] = torch::randn({4, 6, environment.observations[0].array.shape[0]}, dtype);
  batch.fields[kReward] = torch::randn({4, 6}, dtype).masked_fill(nothing, nan);
  batch.fields["log_prob"] = (torch::randn({4, 6}, dtype) * 0.5 - 1).masked_fill(nothing, nan);
  for (const SpaceLeaf& action : environment.actions) {
    std::vector<int64_t> shape = action.array.shape;
    shape.insert(shape.begin(), {4, 6});
    torch::Tensor& field = batch.fields[action.array.name];
    if (action.kind == SpaceKind::kBox) {
      const torch::Tensor values = torch::randn({4, 6, action.array.NumElements()}, dtype);
      field = values.masked_fill(nothing.unsqueeze(-1), nan).view(shape);
    } else if (action.kind == SpaceKind::kMultiBinary) {
      field = torch::rand(shape) < 0.5;
    } else {
      field = torch::randint(action.TotalChoices(), shape, torch::kInt64);
    }
    if (const SpaceLeaf* const mask = FindMaskOfAction(environment, action)) {
      batch.fields[mask->array.name] =
          (torch::rand({4, 6, action.TotalChoices()}) < 0.5).scatter(-1, field.unsqueeze(-1), true);
    }
  }
  return batch;
}

// The log probabilities of the actions of such a batch under the network's policy, [rows, T + 1]; meaningless in rows
// without an action.
inline torch::Tensor LogProbs(const Model& model, const std::string& network, const TensorBatch& batch) {
  const torch::NoGradGuard no_grad;
  const Unrolls u = UnrollsOf(Batches(&model.environment(), {{"", &batch}}), 1);
  return model.net(network)(u.observation).policy().LogProb(u.action).transpose(0, 1);
}

// The same batch as if the network itself had acted, but for this change of each log probability: [rows, T + 1] or [].
inline TensorBatch ActedBy(const Model& model, TensorBatch batch, const torch::Tensor& change) {
  const torch::Tensor log_probs = LogProbs(model, "actor_critic", batch) + change;
  batch.fields["log_prob"] = torch::where(torch::isnan(batch.at("log_prob")), batch.at("log_prob"), log_probs);
  return batch;
}

inline TensorBatch ActedBy(const Model& model, TensorBatch batch, double change) {
  return ActedBy(model, std::move(batch), torch::full({}, change, torch::kFloat64));
}

// The same batch with a terminal state at the end of each episode and of each unroll.
inline TensorBatch Terminated(TensorBatch batch) {
  const int64_t steps = batch.at(kStepType).size(1) - 1;
  torch::Tensor ends = (batch.at(kStepType) == 2).roll(-1, 1);
  ends.select(1, steps - 1).fill_(true);
  batch.fields[kDiscount] = batch.at(kDiscount).masked_fill(ends, 0);
  return batch;
}

// A step of such a batch that is not ignored, with the values that an algorithm computes from it, by definition.
struct ReferenceStep {
  double acted_log_prob = 0;  // By the policy that acted.
  double log_prob = 0;        // By the network, as all below.
  double entropy = 0;
  double value = 0;
  std::vector<double> estimates;  // Those that the value is the mean of.
  double advantage = 0;
  double value_target = 0;
};

// Computes the log probability and entropy of the action in row `row` at time `t`, element by element. `outputs` of the
// policy's head are logits, then means; `log_std` is defined if there are means.
inline void SetPolicyFacts(const EnvironmentSpec& environment, const TensorBatch& batch, int64_t row, int64_t t,
                           const torch::Tensor& outputs, const torch::Tensor& log_std, ReferenceStep* step) {
  const JointAction joint = JointActionOf(environment);
  int64_t output = 0;
  for (const JointAction::Part& part : joint.parts) {
    const torch::Tensor action = batch.at(environment.actions[part.leaf].array.name)[row][t].reshape({-1});
    for (int64_t i = 0, choice = 0; i < part.elements; ++i) {
      if (part.choices == 0) {
        const double deviation = log_std[part.first + i - joint.num_choosing()].item<double>();
        const double normal = (action[i].item<double>() - outputs[output++].item<double>()) / std::exp(deviation);
        step->log_prob -= 0.5 * normal * normal + deviation + 0.5 * std::log(2 * M_PI);
        step->entropy += deviation + 0.5 * std::log(2 * M_PI * M_E);
        continue;
      }
      std::vector<double> weights;
      double sum = 0;
      for (int64_t k = 0; k < joint.num_values[static_cast<size_t>(part.first + i)]; ++k, ++choice) {
        const bool legal =
            part.mask < 0 ||
            batch.at(environment.observations[static_cast<size_t>(part.mask)].array.name)[row][t][choice].item<bool>();
        weights.push_back(legal ? std::exp(outputs[output].item<double>()) : 0);
        sum += weights.back();
        ++output;
      }
      for (const double weight : weights) {
        step->entropy -= weight > 0 ? weight / sum * std::log(weight / sum) : 0;
      }
      step->log_prob += std::log(weights[static_cast<size_t>(action[i].item<int64_t>())] / sum);
    }
  }
}

// All steps that are not ignored, row by row.
inline std::vector<ReferenceStep> ReferenceSteps(const Network& network, const EnvironmentSpec& environment,
                                                 const TensorBatch& batch, double discount, double lambda) {
  constexpr int64_t kPolicy = 0;  // Heads are in the order of their names.
  constexpr int64_t kValue = 1;
  const torch::NoGradGuard no_grad;
  std::vector<ReferenceStep> steps;
  const int64_t length = batch.at(kStepType).size(1) - 1;
  for (int64_t row = 0; row < batch.size; ++row) {
    const auto at = [&](const char* field, int64_t t) { return batch.at(field)[row][t]; };
    const auto outputs = [&](int64_t t) { return network.Forward({at(kObservation, t).unsqueeze(0)}); };
    const auto value = [&](int64_t t) { return outputs(t)[kValue].values.mean().item<double>(); };
    const auto is_last = [&](int64_t t) { return at(kStepType, t).item<int32_t>() == 2; };
    for (int64_t t = 0; t < length; ++t) {
      if (is_last(t)) {
        continue;
      }
      ReferenceStep step;
      const Network::HeadOutput policy = outputs(t)[kPolicy];
      SetPolicyFacts(environment, batch, row, t, policy.values[0], policy.log_std, &step);
      step.acted_log_prob = at("log_prob", t).item<double>();
      step.value = value(t);
      for (int64_t i = 0; i < outputs(t)[kValue].values.numel(); ++i) {
        step.estimates.push_back(outputs(t)[kValue].values[0][i].item<double>());
      }
      // The sum over the episode's following steps, as in arXiv 1506.02438.
      double weight = 1;
      for (int64_t k = t; k < length && !is_last(k) && weight != 0; ++k) {
        const double next = discount * at(kDiscount, k).item<double>();
        step.advantage += weight * (at(kReward, k).item<double>() + next * value(k + 1) - value(k));
        weight *= next * lambda;
      }
      step.value_target = step.advantage + step.value;
      steps.push_back(step);
    }
  }
  return steps;
}

// Scales advantages to mean 0 and variance 1.
inline void Standardize(std::vector<ReferenceStep>* steps) {
  const auto count = static_cast<double>(steps->size());
  double mean = 0;
  double variance = 0;
  for (const ReferenceStep& step : *steps) {
    mean += step.advantage / count;
  }
  for (const ReferenceStep& step : *steps) {
    variance += (step.advantage - mean) * (step.advantage - mean) / count;
  }
  for (ReferenceStep& step : *steps) {
    step.advantage = (step.advantage - mean) / std::sqrt(variance + 1e-8);
  }
}

}  // namespace waggle::testing
