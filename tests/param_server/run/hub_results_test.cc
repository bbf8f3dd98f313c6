#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::ValueOf;

struct Fixture : testing::HubFixture {
  // With the hub's steps, as ModelService does.
  void Publish(uint64_t version) {
    ModelSnapshot snapshot = testing::MakeModel("x", {1, version});
    snapshot.progress.env_steps = hub->env_steps();
    REQUIRE_OK(models->Publish(std::move(snapshot)));
  }
  // The evaluator has pulled the newest weights.
  void Hold() { models->Hold("e", models->Newest("x")); }

  RunState Evaluate(uint64_t version, double mean_return) {
    WorkerReport report = Report("e");
    DatedEvaluation dated;
    dated.evaluation.version = {1, version};
    dated.evaluation.episodes = 20;
    dated.evaluation.mean_return = mean_return;
    if (const auto weights = models->Find("x", {1, version}); weights != nullptr) {
      dated.evaluation.env_steps = static_cast<uint64_t>(weights->snapshot.progress.env_steps);
    }
    dated.finished = absl::FromUnixMicros(++evaluations);
    report.evaluations = {dated};
    return ValueOf(hub->Heartbeat(report)).run_state;
  }
  RunState EndTraining(const std::string& learner, uint64_t version) {
    WorkerReport report = Report(learner);
    report.final_version = ModelVersion{1, version};
    return ValueOf(hub->Heartbeat(report)).run_state;
  }
  std::string BestFolder() const { return folder.File(kBestModelFolder); }

  int64_t evaluations = 0;
};

TEST_CASE("The best weights are kept though newer ones were published meanwhile", "[unit]") {
  Fixture fixture;
  fixture.Join("e", Role::kEvaluator);
  for (const uint64_t version : {10, 20, 30}) {
    fixture.Publish(version);
    fixture.Hold();
    fixture.Publish(version + 5);
    fixture.Evaluate(version, version == 20 ? 50 : 10);
  }
  CHECK(fixture.models->Best("x")->snapshot.version == ModelVersion{1, 20});
  CHECK(fixture.hub->Overview().result->evaluation.version == ModelVersion{1, 20});
  Eventually("the best weights are on the disk", [&] {
    const absl::StatusOr<SavedModel> kept = LoadSavedModel(fixture.BestFolder());
    return kept.ok() &&
           testing::BytesOf(kept->snapshot.data) == testing::BytesOf(testing::MakeModel("x", {1, 20}).data);
  });
  fixture.Restart();
  CHECK(fixture.models->Best("x")->snapshot.version == ModelVersion{1, 20});
  CHECK(fixture.models->Newest("x")->snapshot.version == ModelVersion{1, 35});
  CHECK(fixture.hub->Overview().result->evaluation.mean_return == 50);
  CHECK(fixture.Join("a", Role::kActor).assignment.model_version == ModelVersion{1, 35});
}

TEST_CASE("A confirmed version becomes the best, and all workers hear of it", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  fixture.Publish(1);
  fixture.Hold();
  CHECK(fixture.Evaluate(1, 200) == RunState::kRunning);
  CHECK(fixture.Evaluate(1, 99) == RunState::kRunning);
  fixture.Publish(2);
  fixture.Hold();
  CHECK(fixture.Evaluate(2, 300) == RunState::kRunning);
  fixture.Restart();  // The candidate survives.
  fixture.Join("a", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  CHECK(fixture.Evaluate(2, 100) == RunState::kSolved);
  const Assignment told = ValueOf(fixture.Beat("a"));
  REQUIRE(told.result.has_value());
  CHECK(told.result->evaluation.version == ModelVersion{1, 2});
  CHECK(told.result->confirmed);
  CHECK(fixture.models->Best("x")->snapshot.version == ModelVersion{1, 2});
}

TEST_CASE("The result is that of the saved weights if the record has another one", "[unit]") {
  Fixture fixture;
  fixture.Join("e", Role::kEvaluator);
  fixture.Publish(1);
  fixture.Hold();
  fixture.Evaluate(1, 50);
  const auto on_disk = [&](double mean_return) {
    const absl::StatusOr<SavedModel> kept = LoadSavedModel(fixture.BestFolder());
    return kept.ok() && absl::StrContains(kept->remark, absl::StrCat(" ", mean_return, " "));
  };
  Eventually("the best weights are on the disk", [&] { return on_disk(50); });
  const std::string kept_folder = fixture.folder.File("kept");
  fixture.Restart(
      [&] { std::filesystem::copy(fixture.BestFolder(), kept_folder, std::filesystem::copy_options::recursive); });
  fixture.Join("e", Role::kEvaluator);
  fixture.Publish(2);
  fixture.Hold();
  fixture.Evaluate(2, 60);
  // As if the hub had been killed before it wrote these weights.
  fixture.Restart([&] {
    std::filesystem::remove_all(fixture.BestFolder());
    std::filesystem::rename(kept_folder, fixture.BestFolder());
  });
  const std::optional<RunResult> result = fixture.hub->Overview().result;
  REQUIRE(result.has_value());
  CHECK(result->evaluation.version == ModelVersion{1, 1});
  CHECK(result->evaluation.mean_return == 50);
  fixture.Join("e", Role::kEvaluator);
  fixture.Publish(3);
  fixture.Hold();
  fixture.Evaluate(3, 40);
  CHECK(fixture.hub->Overview().result->evaluation.version == ModelVersion{1, 1});
}

TEST_CASE("An evaluation of weights that are not in memory is shown and does not count", "[unit]") {
  Fixture fixture;
  fixture.Join("e", Role::kEvaluator);
  fixture.Publish(1);
  fixture.Publish(2);
  fixture.Evaluate(1, 500);
  CHECK(fixture.Evaluate(1, 500) == RunState::kRunning);
  CHECK(fixture.hub->Overview().evaluations.size() == 2);
  CHECK_FALSE(fixture.hub->Overview().result.has_value());
}

TEST_CASE("The weights that an evaluator holds are freed when it leaves or is dismissed", "[unit]") {
  Fixture fixture;
  fixture.Join("e", Role::kEvaluator);
  fixture.Join("a", Role::kActor);
  fixture.Publish(1);
  fixture.Hold();
  fixture.Publish(2);
  double steps = 0;
  SECTION("The evaluator leaves") {
    fixture.hub->Leave("e");
  }
  SECTION("The evaluator is dismissed") {
    fixture.hub->Dismiss("e", "it was silent");
  }
  Eventually("the weights are gone", [&] {
    // A save frees the weights of dismissed evaluators. One may be running that began before.
    fixture.now += absl::Seconds(6);
    REQUIRE_OK(fixture.Beat("a", ++steps));
    return fixture.models->Find("x", {1, 1}) == nullptr;
  });
}

TEST_CASE("The steps of a version are the same in all answers and never change", "[unit]") {
  Fixture fixture;
  std::vector<std::string> notes;
  fixture.note = [&notes](const std::string& text) { notes.push_back(text); };
  fixture.Restart();
  fixture.Join("a", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  REQUIRE_OK(fixture.Beat("a", 100));
  fixture.Publish(1);
  fixture.Hold();
  fixture.now += absl::Seconds(0.5);
  fixture.Evaluate(1, 5);
  fixture.now += absl::Seconds(0.5);
  REQUIRE_OK(fixture.Beat("a", 300));
  fixture.now += absl::Seconds(10);
  REQUIRE_OK(fixture.Beat("a", 900));
  CHECK_THAT(notes.back(), Catch::Contains("at 100 environment steps"));
  CHECK(fixture.hub->Overview().evaluations.back().evaluation.env_steps == 100);
  CHECK(fixture.hub->Overview().result->evaluation.env_steps == 100);
  fixture.note = nullptr;
  fixture.Restart();
  CHECK(fixture.hub->Overview().result->evaluation.env_steps == 100);
  CHECK(ValueOf(LoadSavedModel(fixture.BestFolder())).snapshot.progress.env_steps == 100);
  CHECK(fixture.models->Newest("x")->snapshot.progress.env_steps == 100);
  fixture.Join("e", Role::kEvaluator);
  fixture.Hold();
  fixture.Evaluate(1, 6);
  CHECK(fixture.hub->Overview().result->evaluation.env_steps == 100);
}

TEST_CASE("A restored version keeps its steps, and a later one has no fewer", "[unit]") {
  testing::HubFixture fixture;
  CHECK(fixture.hub->EnvStepsAt({1, 1}) == 0);
  ModelSnapshot best = testing::MakeModel("x", {1, 9});
  best.progress.env_steps = 500;
  auto stored = std::make_shared<StoredModel>();
  stored->snapshot = best;
  fixture.models->SetBest(stored);
  ModelSnapshot newest = testing::MakeModel("x", {1, 8});
  newest.progress.env_steps = 480;
  REQUIRE_OK(fixture.models->Publish(newest));
  CHECK(fixture.hub->EnvStepsAt({1, 9}) == 500);
  CHECK(fixture.hub->EnvStepsAt({1, 10}) == 480);
  fixture.Join("a", Role::kActor);
  REQUIRE_OK(fixture.Beat("a", 600));
  CHECK(fixture.hub->EnvStepsAt({1, 9}) == 500);
  CHECK(fixture.hub->EnvStepsAt({1, 10}) == 600);
}

TEST_CASE("An evaluation with too many steps is refused", "[unit]") {
  Fixture fixture;
  fixture.Join("e", Role::kEvaluator);
  WorkerReport report = fixture.Report("e");
  report.evaluations.emplace_back();
  report.evaluations[0].evaluation.episodes = 20;
  report.evaluations[0].evaluation.env_steps = (uint64_t{1} << 53) + 1;
  const absl::Status refused = fixture.hub->Heartbeat(report).status();
  CHECK(refused.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("evaluation.env_steps: got 9007199254740993"));
}

TEST_CASE("A run at its limit ends when its final weights are evaluated", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("l", Role::kLearner);
  fixture.Join("e", Role::kEvaluator);
  CHECK(ValueOf(fixture.Beat("a", 1'000)).run_state == RunState::kFinishing);
  fixture.Publish(9);
  fixture.Hold();
  CHECK(fixture.EndTraining("l", 9) == RunState::kFinishing);
  SECTION("They are evaluated") {
    CHECK(fixture.Evaluate(9, 50) == RunState::kLimit);
  }
  SECTION("They solve the run") {
    CHECK(fixture.Evaluate(9, 150) == RunState::kFinishing);
    CHECK(fixture.Evaluate(9, 150) == RunState::kSolved);
  }
  SECTION("The learner leaves after it has published them") {
    if (GENERATE(false, true)) {
      WorkerReport report = fixture.Report("l");
      report.failure = "the last checkpoint cannot be written";
      CHECK(ValueOf(fixture.hub->Heartbeat(report)).run_state == RunState::kFinishing);
    }
    fixture.hub->Leave("l");
    CHECK(fixture.hub->Overview().run_state == RunState::kFinishing);
    CHECK(fixture.Evaluate(9, 50) == RunState::kLimit);
    CHECK(fixture.hub->Overview().result->evaluation.version == ModelVersion{1, 9});
  }
  SECTION("After a restart of the hub that no worker joins") {
    fixture.Restart();
    CHECK(fixture.hub->Overview().run_state == RunState::kFinishing);
    fixture.now += absl::Seconds(11);
    CHECK(fixture.hub->Overview().run_state == RunState::kLimit);
  }
  SECTION("After a restart of the hub") {
    fixture.Restart();
    CHECK(fixture.hub->Overview().run_state == RunState::kFinishing);
    CHECK(fixture.Join("e", Role::kEvaluator).assignment.run_state == RunState::kFinishing);
    REQUIRE_OK(fixture.hub->Join({"l", "", 1, {}}));
    CHECK(fixture.EndTraining("l", 9) == RunState::kFinishing);
    CHECK(fixture.Evaluate(9, 50) == RunState::kLimit);
  }
  SECTION("The evaluator leaves") {
    fixture.hub->Leave("e");
    CHECK(fixture.hub->Overview().run_state == RunState::kLimit);
    CHECK_THAT(fixture.hub->Overview().outcome_reason, Catch::Contains("not evaluated: there is no evaluator"));
  }
  SECTION("No worker evaluates them") {
    for (int second = 0; second < 600; ++second) {
      for (const char* worker : {"a", "l", "e"}) {
        CHECK(ValueOf(fixture.Beat(worker, 1'000)).run_state == RunState::kFinishing);
      }
      fixture.now += absl::Seconds(1);
    }
    CHECK(fixture.hub->Overview().run_state == RunState::kLimit);
  }
}

TEST_CASE("News comes at once, and once", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  std::optional<int64_t> seen;
  CHECK(fixture.hub->News("unknown", &seen).status().code() == absl::StatusCode::kNotFound);
  CHECK(ValueOf(fixture.hub->News("a", &seen))->run_state == RunState::kRunning);
  CHECK_FALSE(ValueOf(fixture.hub->News("a", &seen)).has_value());
  const StopToken told;
  const auto subscription = fixture.hub->Watch([told] { told.RequestStop(); });
  REQUIRE_OK(fixture.Beat("a", 1'000));
  REQUIRE(told.WaitFor(absl::Minutes(2)));
  CHECK(ValueOf(fixture.hub->News("a", &seen))->run_state == RunState::kLimit);
  CHECK_FALSE(ValueOf(fixture.hub->News("a", &seen)).has_value());
}

TEST_CASE("Weights that cannot be written do not stop a run, and the overview shows them", "[unit]") {
  Fixture fixture;
  fixture.Join("e", Role::kEvaluator);
  CHECK(fixture.hub->Overview().weights_unsaved.empty());
  std::filesystem::remove_all(fixture.BestFolder());
  REQUIRE_OK(WriteFileAtomically(fixture.BestFolder(), "in the way"));
  fixture.Publish(1);
  CHECK(fixture.Evaluate(1, 5) == RunState::kRunning);
  const auto gauge = [&] {
    const std::vector<WorkerView> workers = fixture.hub->Overview().workers;
    return workers.front().figures->gauges.at("weights_unsaved");  // The hub's own.
  };
  Eventually("the failure is seen", [&] { return gauge() == 1; });
  CHECK_THAT(fixture.hub->Overview().weights_unsaved, Catch::Contains(fixture.BestFolder()));
  std::filesystem::remove(fixture.BestFolder());
  Eventually("it is over", [&] { return gauge() == 0 && fixture.hub->Overview().weights_unsaved.empty(); });
}

TEST_CASE("A result whose weights were lost does not count", "[unit]") {
  Fixture fixture;
  fixture.Join("e", Role::kEvaluator);
  fixture.Publish(1);
  fixture.Evaluate(1, 5);
  fixture.Stop();
  std::filesystem::remove_all(fixture.BestFolder());
  fixture.Restart();
  CHECK_FALSE(fixture.hub->Overview().result.has_value());
}

TEST_CASE("Weights of another experiment are refused with advice", "[unit]") {
  Fixture fixture;
  fixture.Stop();
  {
    WeightsFolderOptions options;
    options.folder = fixture.BestFolder();
    const auto other = ValueOf(WeightsFolder::Open(options));
    other->Save({testing::MakeModel("x", {1, 1}), "another experiment"});
  }
  const absl::Status status = fixture.TryRestart();
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(status.message()), Catch::Contains("weights of another experiment"));
}

}  // namespace
}  // namespace waggle
