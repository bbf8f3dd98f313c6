// The state that must survive a learner, and that must not be loaded into another one.

#include "absl/strings/match.h"
#include "common/rl/training/learner_checkpoint.h"
#include "tests/conformance/fields.h"
#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

// The bytes of a checkpoint's contents, by name.
using Bytes = std::map<std::string, std::string>;

Bytes BytesOf(const CheckpointContents& contents) {
  Bytes bytes(contents.texts.begin(), contents.texts.end());
  for (const CheckpointArray& array : contents.arrays) {
    std::string& data = bytes[array.spec.DebugString()];
    data.resize(array.data.size());
    array.data.CopyTo(data.data());
  }
  return bytes;
}

// The names of what differs, as bytes cannot be read.
std::vector<std::string> Differing(const Bytes& a, const Bytes& b) {
  std::vector<std::string> names;
  Bytes all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [name, bytes] : all) {
    if (a.count(name) == 0 || b.count(name) == 0 || a.at(name) != b.at(name)) {
      names.push_back(name);
    }
  }
  return names;
}

const std::vector<std::string> kNothing;

CheckpointContents Saved(const Subject& subject, int64_t step, Trainee* trainee) {
  return ValueOf(SaveLearner(step, subject.algorithm, trainee));
}

// Makes update number `step`, counted from 1, and copies its result.
UpdateResult UpdateOnce(const std::vector<TensorBatch>& batches, int64_t step, Trainee* trainee) {
  LocalStepper stepper;
  UpdateResult result =
      ValueOf(trainee->Update(batches[static_cast<size_t>(step - 1)], {0.1, step, 8 * step}, &stepper));
  for (auto& [name, value] : result.metrics) {
    value = value.clone();
  }
  return result;
}

// Saves after `before` of five updates, and continues in a trainee with another seed.
void CheckGoesOn(const Subject& subject, Experiment experiment, const std::vector<TensorBatch>& batches,
                 int64_t before) {
  const auto first = NewTrainee(subject, experiment);
  for (int64_t step = 1; step <= before; ++step) {
    UpdateOnce(batches, step, first.get());
  }
  const CheckpointContents saved = Saved(subject, before, first.get());
  experiment.experiment.seed = 77;
  const auto second = NewTrainee(subject, experiment);
  CHECK(Differing(BytesOf(Saved(subject, before, second.get())), BytesOf(saved)) != kNothing);
  REQUIRE_OK(RestoreLearner(saved, subject.algorithm, second.get()));
  for (int64_t step = before + 1; step <= 5; ++step) {
    const UpdateResult expected = UpdateOnce(batches, step, first.get());
    const UpdateResult result = UpdateOnce(batches, step, second.get());
    REQUIRE(result.priorities[0].defined() == expected.priorities[0].defined());
    CHECK((!result.priorities[0].defined() || torch::equal(result.priorities[0], expected.priorities[0])));
    REQUIRE(result.metrics.size() == expected.metrics.size());
    for (size_t i = 0; i < result.metrics.size(); ++i) {
      INFO(result.metrics[i].first);
      CHECK(result.metrics[i].first == expected.metrics[i].first);
      CHECK(torch::equal(result.metrics[i].second, expected.metrics[i].second));
    }
  }
  CHECK(Differing(BytesOf(Saved(subject, 5, second.get())), BytesOf(Saved(subject, 5, first.get()))) == kNothing);
}

TEST_CASE("a learner that was saved and loaded continues bit for bit, whatever its options are", "[unit]") {
  ForEachVariant([](const Subject& subject, const Experiment& experiment) {
    const std::vector<TensorBatch> batches = PlayedBatches(subject, experiment, 5);
    // An algorithm that does something every second update may continue from an even number by luck.
    CheckGoesOn(subject, experiment, batches, 2);
    CheckGoesOn(subject, experiment, batches, 3);
  });
}

// The checkpoint is refused, and the trainee does not change.
void CheckRefused(const Subject& subject, const CheckpointContents& saved, const Experiment& experiment) {
  const auto trainee = NewTrainee(subject, experiment);
  const auto before = BytesOf(Saved(subject, 0, trainee.get()));
  REQUIRE_CODE(RestoreLearner(saved, subject.algorithm, trainee.get()), absl::StatusCode::kFailedPrecondition);
  CHECK(Differing(BytesOf(Saved(subject, 0, trainee.get())), before) == kNothing);
}

std::vector<std::string> OptimizerTypes(const AlgorithmPlan& plan) {
  std::vector<std::string> types;
  for (const NetworkNeed& need : plan.networks) {
    types.push_back(need.optimizer.type);
  }
  for (const ScalarNeed& need : plan.scalars) {
    types.push_back(need.optimizer.type);
  }
  return types;
}

TEST_CASE("a checkpoint of other networks, another optimizer or another algorithm is refused", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const auto trainee = NewTrainee(subject, experiment);
    const AlgorithmPlan& plan = trainee->plan().algorithm;
    const CheckpointContents saved = Saved(subject, 1, trainee.get());
    {
      INFO(subject.Text());
      CHECK(RestoreLearner(saved, "another", trainee.get()).code() == absl::StatusCode::kFailedPrecondition);
    }
    for (const NetworkNeed& need : plan.networks) {
      INFO(need.name);
      CheckRefused(subject, saved, SmallExperiment(subject, {{"networks." + need.name + ".torso", "[]"}}));
    }
    FieldWalk walk;
    ValueOf(Definitions().Find(subject.algorithm))->new_options()->Visit(walk);
    int optimizers = 0;
    for (const auto& [path, choices] : walk.choices) {
      if (!absl::EndsWith(path, "optimizer.type")) {
        continue;
      }
      INFO(path);
      for (const char* const type : {"adam", "rmsprop"}) {
        const Experiment other = SmallExperiment(subject, {{"algorithm." + path, type}});
        const ExperimentPlan other_plan = ValueOf(PlanExperiment(other, SpecOf(subject.kind), Definitions()));
        // An optimizer that this kind of environment does not use changes nothing.
        if (OptimizerTypes(other_plan.algorithm) != OptimizerTypes(plan)) {
          ++optimizers;
          CheckRefused(subject, saved, other);
        }
      }
    }
    CHECK(optimizers > 0);
  });
}

}  // namespace
}  // namespace waggle::testing
