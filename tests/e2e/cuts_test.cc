// Runs that go back to a cut after all of their processes were killed.

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "tests/cli/file_contents.h"
#include "tests/e2e/run_again.h"
#include "tests/e2e/running_process.h"
#include "tests/e2e/service.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// The rows of figures so far, which say how far a run has got.
size_t Rows(const TrainingRun& run) {
  return std::filesystem::exists(run.File("metrics.csv")) ? TimelessFigures(Contents(run.File("metrics.csv"))).size()
                                                          : 0;
}

// The number of the newest complete cut; 0: none.
uint64_t NewestCut(const TrainingRun& run) {
  uint64_t newest = 0;
  std::error_code error;
  for (const auto& experiment : std::filesystem::directory_iterator(run.File("hub/experiments"), error)) {
    for (const auto& cut : std::filesystem::directory_iterator(experiment.path() / "hub/cuts", error)) {
      uint64_t number = 0;
      if (absl::SimpleAtoi(cut.path().filename().string(), &number)) {
        newest = std::max(newest, number);
      }
    }
  }
  return newest;
}

std::vector<std::string> Arguments(const std::string& config) {
  std::vector<std::string> arguments = {
      "--set", "experiment.deterministic=true", "--set", "stop.max_seconds=0",
      "--set", "stop.target_return=null",       "--set", "replay.durability=checkpoint"};
  const std::vector<std::string> more =
      config == "cartpole_ppo"
          ? std::vector<std::string>{"--set", "experiment.checkpoint.period=8", "--set", "evaluation.period_steps=5",
                                     "--set", "stop.max_env_steps=16000"}
          : std::vector<std::string>{"--set", "experiment.checkpoint.period=400",
                                     "--set", "evaluation.period_steps=200",
                                     "--set", "replay.servers=2",
                                     "--set", "stop.max_env_steps=8000"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Lets the run `process` go on until a moment by chance after a further cut, then kills everything.
void KillAfterACut(const TrainingRun& run, RunningProcess* process, std::mt19937* random) {
  const uint64_t cut = NewestCut(run);
  Eventually("another cut", [&] { return NewestCut(run) > cut; });
  const size_t rows = Rows(run) + (*random)() % 60;
  const absl::Time until = absl::Now() + absl::Milliseconds((*random)() % 700);
  Eventually("a moment by chance", [&] { return Rows(run) >= rows || absl::Now() >= until; });
  KillAll(run, process);
}

// `kills` times everything is killed. The run must end as one that was not.
void CheckExactness(const std::string& config, int kills) {
  INFO(config);
  TrainingRun whole(Arguments(config), /*plot=*/false, config);
  const nlohmann::json wanted = whole.WaitForSuccess();
  const std::vector<std::string> figures = TimelessFigures(Contents(whole.File("metrics.csv")));
  const uint32_t seed = std::random_device()();
  INFO("moments of seed " << seed);
  std::mt19937 random(seed);

  TrainingRun killed(Arguments(config), /*plot=*/false, config);
  KillAfterACut(killed, killed.process(), &random);
  for (int i = 1; i < kills; ++i) {
    Resumption resumed(killed);
    KillAfterACut(killed, resumed.process(), &random);
  }
  Resumption last(killed);
  const int64_t status = last.Wait();
  INFO(last.Log());
  REQUIRE(status == 0);
  nlohmann::json got = killed.Summary().at("result");
  nlohmann::json result = wanted.at("result");
  result.erase("finished_at");
  got.erase("finished_at");
  CHECK(got == result);
  CHECK(killed.Summary().at("env_steps") == wanted.at("env_steps"));
  CHECK(killed.Summary().at("learner_steps") == wanted.at("learner_steps"));
  const std::vector<std::string> again = TimelessFigures(Contents(killed.File("metrics.csv")));
  CHECK(figures.size() > 100);
  CHECK(again.size() == figures.size());
  for (size_t row = 0; row < std::min(again.size(), figures.size()); ++row) {
    INFO("row " << row);
    REQUIRE(again[row] == figures[row]);
  }
  CHECK(BestWeights(killed) == BestWeights(whole));
}

TEST_CASE("a deterministic run all of whose processes are killed goes on from its cut, bit for bit", "[e2e]") {
  CheckExactness(GENERATE("cartpole_apex_dqn", "cartpole_ppo"), /*kills=*/2);
}

TEST_CASE("deterministic runs all of whose processes are killed at ten moments end bit for bit alike", "[soak]") {
  CheckExactness(GENERATE("cartpole_apex_dqn", "cartpole_ppo"), /*kills=*/10);
}

TEST_CASE("experiments that share a replay server all go back to their cuts after everything was killed", "[e2e]") {
  Service service;
  const std::vector<std::string> names = {"hub", "replay", "learner1", "learner2", "actor1", "actor2"};
  const auto start = [&] {
    service.StartHub();
    service.StartReplay("replay");
    for (const char* const number : {"1", "2"}) {
      service.StartLearner(absl::StrCat("learner", number));
      service.StartActor(absl::StrCat("actor", number));
    }
    Eventually("the hub", [&] { return service.Waggle({"list"}).first == 0; });
  };
  const auto steps = [&](const std::string& id) {
    const nlohmann::json status = service.Status(id);
    return status.is_null() ? 0 : status.at("learner_steps").get<double>();
  };
  // The number of items that were ever inserted into the table; -1 if it is not known now.
  const auto inserted = [&](const std::string& id) {
    const nlohmann::json status = service.Status(id);
    return status.is_null() || status.at("tables").empty()
               ? -1.0
               : status.at("tables").at(0).at("items_inserted").get<double>();
  };
  start();
  std::vector<std::string> ids;
  std::vector<double> at_cut;
  for (const char* const name : {"first", "second"}) {
    ids.push_back(service.Submit(
        absl::StrCat("experiment: {name: ", name, "}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\n",
                     "actor: {processes: 1}\nevaluation: {enabled: false}\n",
                     "replay: {durability: checkpoint, rate_limiter: {min_items: 500, samples_per_insert: 8}}\n",
                     "stop: {max_env_steps: 1000000000}\n")));
  }
  for (const std::string& id : ids) {
    Eventually("learner steps", [&] { return steps(id) > 100; });
    at_cut.push_back(inserted(id));
    const auto [status, said] = service.Waggle({"checkpoint", id});
    INFO(said);
    REQUIRE(status == 0);
  }
  for (const std::string& name : names) {
    service.Kill(name);
  }
  REQUIRE_OK(WriteFileAtomically(service.File("hub/return_to_cuts"), ""));
  start();
  for (const std::string& id : ids) {
    Eventually("it has gone back",
               [&] { return std::filesystem::exists(service.File("replay/cuts/" + id + "/restored")); });
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& id = ids[i];
    CHECK(at_cut[i] >= 500);
    double now = -1;
    Eventually("its table", [&] { return (now = inserted(id)) >= 0; });
    CHECK(now >= at_cut[i]);  // A new table would begin with 0.
    const double before = steps(id);
    Eventually("it goes on", [&] { return service.Outcome(id) == "running" && steps(id) > before + 100; });
  }
  service.EndAll();
}

}  // namespace
}  // namespace waggle::testing
