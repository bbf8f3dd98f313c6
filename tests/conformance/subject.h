#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/training/steppers.h"
#include "common/rl/training/trainee.h"
#include "tests/conformance/tiny_environment.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// An algorithm, a kind of environment, a core type of its networks, a sampler and a module.
struct Subject {
  std::string algorithm;
  TinyKind kind = TinyKind::kDiscrete;
  std::string core = "none";
  std::string sampler = {};  // Empty: the algorithm's own.
  std::string module = {};   // Its type in `algorithm.modules`; empty: none.

  bool Remembers() const { return core != "none"; }
  std::string Text() const {
    return algorithm + (Remembers() ? " with " + core : "") + (sampler.empty() ? "" : " by " + sampler) +
           (module.empty() ? "" : " with the module " + module) + " in " + Name(kind);
  }
};

// The registered algorithms, created once.
const AlgorithmDefinitions& Definitions();
const AlgorithmImplementations& Implementations();

// The names of all of them, or the one in the environment variable WAGGLE_CONFORMANCE.
std::vector<std::string> Algorithms();

// True if the definition says that the algorithm learns in this kind.
bool Claims(const AlgorithmDefinition& definition, TinyKind kind);
// Each of Algorithms() in every kind that it claims, with cores if it plans for them. If it replays items, also by
// priority if it samples uniformly and the other way round, in the simplest kinds. In the first of those also with each
// module that serves it, and in the first kind with goals with each module that needs them.
const std::vector<Subject>& Subjects();

EnvironmentSpec SpecOf(TinyKind kind);

using Overrides = std::vector<std::pair<std::string, std::string>>;

// The algorithm's defaults, with `overrides` as in a file.
absl::StatusOr<Experiment> Parse(const std::string& algorithm, const Overrides& overrides = {});

// The same with networks of one tanh layer, with the subject's core, with small batches (or the algorithm's own size if
// a test needs that), few passes, and no limit on sampling.
Experiment SmallExperiment(const Subject& subject, const Overrides& overrides = {});
Experiment LearningExperiment(const Subject& subject);

// Overrides that each give one option of the algorithm another value. Only for its own sampler in the simplest kinds,
// and only an LSTM as core. Without the options of optimizers, which no algorithm reads, and values that do not fit the
// other options.
std::vector<Overrides> OtherOptions(const Subject& subject);

// Calls `check` with every subject and its small experiment, each in a section.
template <class Check>
void ForEachSubject(const Check& check) {
  for (const Subject& subject : Subjects()) {
    DYNAMIC_SECTION(subject.Text()) {
      check(subject, SmallExperiment(subject));
    }
  }
}

// The same with all options at their defaults, and then with OtherOptions.
template <class Check>
void ForEachVariant(const Check& check) {
  for (const Subject& subject : Subjects()) {
    DYNAMIC_SECTION(subject.Text()) {
      check(subject, SmallExperiment(subject));
      for (const Overrides& overrides : OtherOptions(subject)) {
        INFO(overrides[0].first << " = " << overrides[0].second);
        check(subject, SmallExperiment(subject, overrides));
      }
    }
  }
}

// Removes the limit on sampling, so that a test may play and learn by turns. A queue keeps its own, which only says
// that an item is sampled once.
void RemoveLimit(Experiment* experiment);

std::unique_ptr<AlgorithmTrainee> NewTrainee(const Subject& subject, const Experiment& experiment,
                                             torch::Device device = torch::kCPU);

// An algorithm and its model, separately, so that a test may choose their inputs. In float64.
struct Parts {
  Parts(const Subject& subject, const Experiment& experiment, torch::Device device = torch::kCPU);

  // All metrics of an update, in its order.
  using Metrics = std::vector<std::pair<std::string, torch::Tensor>>;
  struct Result {
    Metrics losses;  // The groups' losses.
    torch::Tensor priorities;
  };
  absl::StatusOr<Result> Update(const TensorBatch& batch, Stepper* stepper, Noise* noise);

  EnvironmentSpec environment;
  ExperimentPlan plan;
  std::unique_ptr<Model> model;
  std::unique_ptr<AlgorithmWithModules> algorithm;
};

// A flat copy of all values of a model, with its targets.
torch::Tensor ValuesOf(const AlgorithmPlan& plan, const Model& model);

// Constants in place of random numbers: the middle of a distribution, the likeliest choice, the given order. Equal rows
// stay equal.
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
