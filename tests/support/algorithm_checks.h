#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/config/table/batch_layout.h"
#include "common/nn/torch.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/training/steppers.h"
#include "common/rl/training/trainee.h"
#include "tests/support/catch.h"
#include "tests/support/state_copy.h"

// Checks of the updates of any algorithm, and of any that learns from transitions.

namespace waggle::testing {

// Observations float32 [features], and this action.
inline EnvironmentSpec EnvironmentOf(int64_t features, SpaceLeaf action) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {features})};
  environment.actions = {std::move(action)};
  return environment;
}

// An algorithm by its keys in a file ("name: td3, policy_delay: 1"), on these networks ("{actor: {…}, critic: {…}}").
inline std::unique_ptr<AlgorithmTrainee> TraineeOn(const std::string& networks, const std::string& algorithm,
                                                   const EnvironmentSpec& environment, torch::ScalarType dtype,
                                                   int64_t seed) {
  const Experiment experiment =
      ValueOf(ParseExperiment("experiment: {name: test, seed: " + std::to_string(seed) + "}\nalgorithm: {" + algorithm +
                                  "}\nnetworks: " + networks + "\nstop: {max_learner_steps: 1}\n",
                              "test.yaml", {}, BuiltinAlgorithmDefinitions()));
  return ValueOf(AlgorithmTrainee::Create(experiment, environment, BuiltinAlgorithmDefinitions(), BuiltinAlgorithms(),
                                          torch::kCPU, dtype));
}

// The same, with an actor and a critic of one smooth hidden layer, and items drawn by priority.
inline std::unique_ptr<AlgorithmTrainee> TraineeOf(const std::string& algorithm, const EnvironmentSpec& environment,
                                                   torch::ScalarType dtype = torch::kFloat64, int64_t seed = 1,
                                                   int64_t units = 5) {
  const std::string network = "{torso: [{type: mlp, units: [" + std::to_string(units) + "], activation: tanh}]}";
  return TraineeOn("{actor: " + network + ", critic: " + network + "}\nreplay: {sampler: {kind: prioritized}}",
                   algorithm, environment, dtype, seed);
}

// Random transitions of one step. Every third ends its episode.
inline TensorBatch RandomTransitions(const EnvironmentSpec& environment, int64_t rows, uint64_t seed,
                                     torch::ScalarType dtype = torch::kFloat64) {
  torch::manual_seed(seed);
  const SpaceLeaf& action = environment.actions[0];
  const int64_t features = environment.observations[0].array.shape[0];
  TensorBatch batch;
  batch.size = rows;
  batch.table_items = 1000;
  batch.fields[kObservation] = torch::randn({rows, features}, dtype);
  batch.fields["next_observation"] = torch::randn({rows, features}, dtype);
  batch.fields[kAction] = action.kind == SpaceKind::kBox
                              ? torch::rand({rows, action.array.NumElements()}, dtype) * 2 - 1
                              : torch::randint(action.TotalChoices(), {rows}, torch::kInt64);
  batch.fields[kReward] = torch::randn({rows, 2}, dtype);
  torch::Tensor discount = torch::ones({rows, 2}, dtype);
  for (int64_t row = 0; row < rows; row += 3) {
    discount[row][0] = 0;
  }
  batch.fields[kDiscount] = discount;
  batch.fields[kItemLength] = torch::full({rows}, 2, torch::kInt64);
  batch.fields[kItemProbability] = torch::rand({rows}, torch::kFloat64) * 1e-3 + 1e-4;
  return batch;
}

// Makes the targets of the plan differ from their networks.
inline void MoveTargets(AlgorithmTrainee* trainee) {
  for (const NetworkNeed& need : trainee->plan().algorithm.networks) {
    if (Network* const target = trainee->model().net(need.name).target_network()) {
      torch::Tensor values = target->parameters().values();
      values.mul_(0.5).add_(0.1);
    }
  }
}

// One row of a batch's only observation, under the field's name.
inline Observations RowOf(const TensorBatch& batch, const char* field, int64_t row) {
  return {batch.at(field).narrow(0, row, 1)};
}

inline UpdateResult Updated(AlgorithmTrainee* trainee, const TensorBatch& batch, Stepper* stepper) {
  return ValueOf(trainee->Update(batch, Progress(), stepper));
}

inline double Metric(const UpdateResult& result, const std::string& name) {
  for (const auto& [key, value] : result.metrics) {
    if (key == name) {
      return value.item<double>();
    }
  }
  FAIL("the update reports no " << name);
  return 0;
}

// Checks the elements of the group's gradient for which `holds` is true against finite differences of the reported
// loss. The trainee computes in float64.
inline void CheckGradient(AlgorithmTrainee* trainee, ParameterGroup* group, const TensorBatch& batch,
                          const std::function<bool(int64_t element)>& holds) {
  INFO(group->name());
  StateCopy start;  // Random numbers included, so that every update draws the same.
  trainee->VisitState(start.Saver());
  CaptureStepper stepper;
  Updated(trainee, batch, &stepper);
  REQUIRE(stepper.gradients().count(group->name()) == 1);
  const torch::Tensor gradient = stepper.gradients().at(group->name()).clone();
  CHECK(gradient.abs().max().item<double>() > 0);
  const auto loss = [&](int64_t i, double change) {
    trainee->VisitState(start.Loader());
    group->values().data_ptr<double>()[i] += change;
    return Metric(Updated(trainee, batch, &stepper), group->name() + "_loss");
  };
  for (int64_t i = 0; i < gradient.numel(); ++i) {
    if (holds(i)) {
      const double expected = (loss(i, 1e-6) - loss(i, -1e-6)) / 2e-6;
      CHECK(gradient[i].item<double>() == Approx(expected).margin(1e-7).epsilon(1e-5));
    }
  }
  trainee->VisitState(start.Loader());
}

inline void CheckGradients(AlgorithmTrainee* trainee, const std::vector<ParameterGroup*>& groups,
                           const TensorBatch& batch) {
  for (ParameterGroup* group : groups) {
    CheckGradient(trainee, group, batch, [](int64_t) { return true; });
  }
}

// Checks that the network's target moves by `rate` of the way to it.
inline void CheckTargetFollows(AlgorithmTrainee* trainee, const std::string& network, const TensorBatch& batch,
                               double rate) {
  INFO(network);
  const Net& net = trainee->model().net(network);
  const torch::Tensor target = net.target_network()->parameters().values();
  const torch::Tensor before = target.clone();
  LocalStepper stepper;
  Updated(trainee, batch, &stepper);
  CHECK_FALSE(torch::equal(target, before));
  CHECK(torch::allclose(target, before + rate * (net.group()->values() - before)));
}

}  // namespace waggle::testing
