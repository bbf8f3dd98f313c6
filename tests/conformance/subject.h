#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithm.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/steppers.h"
#include "common/rl/trainee.h"
#include "tests/conformance/tiny_environment.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// An algorithm in a kind of environment, with a type of core in the network that acts.
struct Subject {
  std::string algorithm;
  TinyKind kind = TinyKind::kDiscrete;
  std::string core = "none";

  bool Remembers() const { return core != "none"; }
  std::string Text() const { return algorithm + (Remembers() ? " with " + core : "") + " in " + Name(kind); }
};

// What is registered, made once.
const AlgorithmDefinitions& Definitions();
const AlgorithmImplementations& Implementations();

// Whether the definition says that the algorithm learns in this kind.
bool Claims(const AlgorithmDefinition& definition, TinyKind kind);
// Every algorithm that is registered in every kind that it claims, and with cores if it plans for them.
const std::vector<Subject>& Subjects();

EnvironmentSpec SpecOf(TinyKind kind);

using Overrides = std::vector<std::pair<std::string, std::string>>;

// The algorithm's defaults, with `overrides` as in a file.
absl::StatusOr<Experiment> Parse(const std::string& algorithm, const Overrides& overrides = {});

// The same with networks of one layer of tanh, and of the subject's core, and batches that are small (where they are
// not to be as large as the algorithm has them) and learned from in few passes, without a limit on what is sampled.
Experiment SmallExperiment(const Subject& subject, const Overrides& overrides = {});
Experiment LearningExperiment(const Subject& subject);

// Takes the limit on what is sampled away, so that a test may play and learn by turns as it likes; a queue's stays,
// which is no more than that an item is sampled once.
void RemoveLimit(Experiment* experiment);

std::unique_ptr<AlgorithmTrainee> NewTrainee(const Subject& subject, const Experiment& experiment,
                                             torch::Device device = torch::kCPU);

// An algorithm and its model, taken apart, so that a test may hand them what it likes. In float64.
struct Parts {
  Parts(const Subject& subject, const Experiment& experiment, torch::Device device = torch::kCPU);

  // All that an update reports, in its order.
  using Metrics = std::vector<std::pair<std::string, torch::Tensor>>;
  struct Result {
    Metrics losses;  // Those of groups.
    torch::Tensor priorities;
  };
  absl::StatusOr<Result> Update(const TensorBatch& batch, Stepper* stepper, Noise* noise);

  EnvironmentSpec environment;
  ExperimentPlan plan;
  std::unique_ptr<Model> model;
  std::unique_ptr<Algorithm> algorithm;
};

// Every group of parameters of a model: of networks, then of scalars.
std::vector<ParameterGroup*> GroupsOf(const AlgorithmPlan& plan, const Model& model);
// A copy of every value that a model has, targets included, flat.
torch::Tensor ValuesOf(const AlgorithmPlan& plan, const Model& model);

// Numbers without chance: the middle of what would be drawn, the likeliest choice, the order as it is. With it rows
// that are alike stay alike.
class StillNoise : public Noise {
 public:
  explicit StillNoise(torch::Device device = torch::kCPU) : Noise(0, device), device_(device) {}
  torch::Tensor NormalLike(const torch::Tensor& like) override { return torch::zeros_like(like); }
  torch::Tensor UniformLike(const torch::Tensor& like) override { return torch::full_like(like, 0.5); }
  torch::Tensor Categorical(const torch::Tensor& probabilities) override { return probabilities.argmax(-1); }
  torch::Tensor Permutation(int64_t n) override { return torch::arange(n, device_); }

 private:
  const torch::Device device_;
};

}  // namespace waggle::testing
