#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/config/table/batch_layout.h"
#include "common/nn/torch.h"
#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/training/trainee.h"

namespace waggle::testing {

inline EnvironmentSpec DqnEnvironment(int64_t features, int64_t actions) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {features})};
  environment.actions = {Discrete("action", actions)};
  return environment;
}

// A one-layer linear network, so that Q-values are easy to set by hand.
inline Experiment DqnExperiment(const ApexDqnOptions& options) {
  Experiment experiment;
  experiment.experiment.name = "test";
  experiment.algorithm = "apex_dqn";
  experiment.algorithm_options = std::make_shared<ApexDqnOptions>(options);
  experiment.networks["q"].torso = {};
  return experiment;
}

// The experiment's trainee.
inline absl::StatusOr<std::unique_ptr<AlgorithmTrainee>> DqnTrainee(const Experiment& experiment,
                                                                    const EnvironmentSpec& environment,
                                                                    torch::Device device = torch::kCPU,
                                                                    torch::ScalarType dtype = torch::kFloat32) {
  return AlgorithmTrainee::Create(experiment, environment, BuiltinAlgorithmDefinitions(), BuiltinAlgorithms(), device,
                                  dtype);
}

// A batch of windows with every item equally likely; `length` is each one's number of rows.
inline TensorBatch DqnBatch(torch::Tensor observation, std::vector<int64_t> action, torch::Tensor reward,
                            torch::Tensor discount, torch::Tensor next_observation, std::vector<int64_t> length) {
  TensorBatch batch;
  batch.size = observation.size(0);
  batch.table_items = 1000;
  batch.fields[kObservation] = std::move(observation);
  batch.fields[kAction] = torch::tensor(action, torch::kInt64);
  batch.fields[kReward] = std::move(reward);
  batch.fields[kDiscount] = std::move(discount);
  batch.fields["next_observation"] = std::move(next_observation);
  batch.fields[kItemLength] = torch::tensor(length, torch::kInt64);
  batch.fields[kItemProbability] = torch::full({batch.size}, 1e-3, torch::kFloat64);
  return batch;
}

}  // namespace waggle::testing
