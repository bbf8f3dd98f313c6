// An algorithm's numbers that may be set while an experiment runs (Range::Live).

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/config_writer.h"
#include "common/config/experiment/live_settings.h"
#include "common/config/live_fields.h"
#include "common/rl/training/learner_checkpoint.h"
#include "tests/conformance/fields.h"
#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

std::map<std::string, std::string> LiveValues(const Experiment& experiment) {
  LiveFields fields;
  VisitExperiment(experiment, fields);
  return fields.values();
}

// All that a plan has beside the optimizers' numbers and exploration, as text.
std::string ShapeOf(const Subject& subject, const Experiment& experiment) {
  const ExperimentPlan plan = ValueOf(PlanExperiment(experiment, SpecOf(subject.kind), Definitions()));
  std::string text;
  for (const NetworkPlan& network : plan.networks) {
    absl::StrAppend(&text, network.name, " ", network.hash, "\n");
  }
  for (const ScalarNeed& scalar : plan.algorithm.scalars) {
    absl::StrAppend(&text, scalar.name, " ", scalar.initial, "\n");
  }
  for (const TablePlan& table : plan.algorithm.tables) {
    absl::StrAppend(&text, table.name, " ", table.batch_size, " ", table.window.length, " ", table.window.period, " ",
                    table.table.max_items, " ", table.table.max_window, "\n");
    const float extras[] = {0.5F, 0.25F, 0.75F, 2.5F};
    const std::vector<WindowRow> rows = {{0, 1, extras, true}, {1, 1, extras + 2, false}};
    absl::StrAppend(&text, table.initial_priority == nullptr ? 0.0 : table.initial_priority(rows.data(), 2), "\n");
  }
  absl::StrAppend(&text, plan.algorithm.rows_per_version.value_or(0), " ", plan.algorithm.iterates, " ",
                  plan.algorithm.exploration.type);
  return text;
}

TEST_CASE("no part of a plan but optimizers' rates and exploration follows from a number that may be set", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const std::map<std::string, std::string> live = LiveValues(experiment);
    CHECK(std::any_of(live.begin(), live.end(),
                      [](const auto& one) { return absl::EndsWith(one.first, "optimizer.learning_rate"); }));
    for (const auto& [key, value] : live) {
      INFO(key);
      CHECK(absl::StartsWith(key, "algorithm."));
      const std::string other = value == "1" ? "2" : value == "2" ? "3" : "0.75";
      const absl::StatusOr<Experiment> changed =
          WithSettings(experiment, absl::StrCat(key, "=", other, "\n"), Definitions());
      if (changed.ok()) {  // Otherwise the number contradicts another one.
        CHECK(ShapeOf(subject, *changed) == ShapeOf(subject, experiment));
      }
    }
  });
}

std::map<std::string, std::string> TextsAndBytes(const Subject& subject, Trainee* trainee) {
  const CheckpointContents contents = ValueOf(SaveLearner(0, subject.algorithm, trainee));
  std::map<std::string, std::string> bytes(contents.texts.begin(), contents.texts.end());
  for (const CheckpointArray& array : contents.arrays) {
    std::string& data = bytes[array.spec.DebugString()];
    data.resize(array.data.size());
    array.data.CopyTo(data.data());
  }
  return bytes;
}

// Takes no values that an algorithm assigns, which have no learning rate.
class OptimizersOnly : public LocalStepper {
 public:
  absl::StatusOr<bool> Assign(ParameterGroup* /*group*/, const torch::Tensor& /*values*/) override { return false; }
};

void Update(const TensorBatch& batch, int64_t step, Trainee* trainee) {
  OptimizersOnly stepper;
  REQUIRE_OK(trainee->Update(batch, {0.1, step, 8 * step}, &stepper));
}

TEST_CASE("settings that change no number change no bit of what is learned", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const std::vector<TensorBatch> batches = PlayedBatches(subject, experiment, 5);
    const auto plain = NewTrainee(subject, experiment);
    const auto set = NewTrainee(subject, experiment);
    std::string settings;
    for (const auto& [key, value] : LiveValues(experiment)) {
      absl::StrAppend(&settings, key, "=", value, "\n");
    }
    for (int64_t step = 1; step <= 5; ++step) {
      Update(batches[static_cast<size_t>(step - 1)], step, plain.get());
      Update(batches[static_cast<size_t>(step - 1)], step, set.get());
      // Algorithms that do something every second update have done it, or not.
      CHECK(ValueOf(set->Set(step % 3 == 0 ? "" : settings)) == ToYaml(experiment));
    }
    CHECK(TextsAndBytes(subject, set.get()) == TextsAndBytes(subject, plain.get()));
  });
}

TEST_CASE("a learning rate that is set counts from the next update on", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const std::vector<TensorBatch> batches = PlayedBatches(subject, experiment, 3);
    const auto trainee = NewTrainee(subject, experiment);
    Update(batches[0], 1, trainee.get());
    std::string settings;
    for (const auto& [key, value] : LiveValues(experiment)) {
      if (absl::EndsWith(key, "optimizer.learning_rate")) {
        absl::StrAppend(&settings, key, "=0\n");
      }
    }
    CHECK_THAT(ValueOf(trainee->Set(settings)), Catch::Contains("learning_rate: 0\n"));
    for (const auto& [group, rate] : trainee->LearningRates({})) {
      INFO(group);
      CHECK(rate == 0);
    }
    const auto online = [&] {
      std::vector<torch::Tensor> values;
      for (ParameterGroup* const group : trainee->groups()) {
        values.push_back(group->values().clone());
      }
      return torch::cat(values);
    };
    const torch::Tensor before = online();
    Update(batches[1], 2, trainee.get());
    CHECK(torch::equal(online(), before));
    REQUIRE_OK(trainee->Set(""));
    Update(batches[2], 3, trainee.get());
    CHECK_FALSE(torch::equal(online(), before));
    CHECK_FALSE(trainee->Set("algorithm.discount\n").ok());
  });
}

}  // namespace
}  // namespace waggle::testing
