#include "common/config/experiment/memory_estimate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/experiment_plan.h"
#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeAlgorithms;
using ::waggle::testing::FakeEnvironmentSpec;
using ::waggle::testing::ValueOf;

using Overrides = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kGibibyte = int64_t{1} << 30;
// The network [4] [65536, 61000] [2].
const Overrides kFourBillion = {{"network.torso[0].units", "[65536, 61000]"}};

Experiment Parse(const Overrides& overrides) {
  return ValueOf(
      ParseExperiment("algorithm: {name: fake}\nstop: {max_seconds: 1}\n", "x.yaml", overrides, FakeAlgorithms()));
}

std::vector<ProcessMemory> Estimate(const Overrides& overrides) {
  const Experiment experiment = Parse(overrides);
  REQUIRE_OK(CheckAgainstEnvironment(experiment, FakeEnvironmentSpec(), FakeAlgorithms()));
  return ValueOf(EstimateMemory(experiment, FakeEnvironmentSpec(), FakeAlgorithms()));
}

const ProcessMemory& Of(Role role, const std::vector<ProcessMemory>& processes) {
  const auto found = std::find_if(processes.begin(), processes.end(),
                                  [role](const ProcessMemory& memory) { return memory.role == role; });
  REQUIRE(found != processes.end());
  return *found;
}

double Part(const ProcessMemory& memory, const std::string& name) {
  const auto found = std::find_if(memory.parts.begin(), memory.parts.end(),
                                  [&name](const MemoryPart& part) { return part.name == name; });
  REQUIRE(found != memory.parts.end());
  return found->bytes;
}

TEST_CASE("every kind of process is estimated with its number of processes", "[unit]") {
  const std::vector<ProcessMemory> all = Estimate({{"replay.servers", "3"}, {"actor.processes", "5"}});
  REQUIRE(all.size() == 5);
  CHECK(Of(Role::kParamServer, all).processes == 1);
  CHECK(Of(Role::kReplayServer, all).processes == 3);
  CHECK(Of(Role::kLearner, all).processes == 1);
  CHECK(Of(Role::kActor, all).processes == 5);
  CHECK(Of(Role::kEvaluator, all).processes == 1);
  CHECK(Estimate({{"evaluation.enabled", "false"}}).size() == 4);
}

TEST_CASE("with pushed gradients the primary is estimated in the learner's place, and no replay server", "[unit]") {
  const std::vector<ProcessMemory> all = Estimate({{"algorithm.n_step", "15"},
                                                   {"learner.gradients", "push"},
                                                   {"learner.gradient_server", "{reducers: 2, max_unacknowledged: 8}"},
                                                   {"actor.processes", "3"},
                                                   {"evaluation.enabled", "false"}});
  REQUIRE(all.size() == 4);
  CHECK(Of(Role::kReducer, all).processes == 2);
  CHECK(Part(Of(Role::kLearner, all), "gradients") == 2 * Part(Of(Role::kReducer, all), "gradients"));
  const double weights = Part(Of(Role::kLearner, all), "gradients") / 24;
  CHECK(weights == 4 * (4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2));
}

TEST_CASE("the first of learners that push has the newest values, a sum, and a gradient of each other learner",
          "[unit]") {
  const std::vector<ProcessMemory> all =
      Estimate({{"learner.gradients", "push"}, {"learner.processes", "3"}, {"network.torso[0].units", "[100]"}});
  CHECK(Part(Of(Role::kLearner, all), "gradients") == 4 * 702 * 4);
  CHECK(Of(Role::kReplayServer, all).processes == 1);
}

TEST_CASE("a network's parameters count as often as a process has them", "[unit]") {
  // 4 * 100 + 100 and 100 * 2 + 2 parameters.
  const double weights = 702 * 4;
  const std::vector<ProcessMemory> all = Estimate({{"network.torso[0].units", "[100]"}});
  const ProcessMemory& learner = Of(Role::kLearner, all);
  CHECK(Part(learner, "parameters") == 5 * weights);
  CHECK(Part(learner, "checkpoint") == 4 * weights);
  CHECK(Part(learner, "weights to publish") == 2 * weights);
  CHECK(Part(Of(Role::kActor, all), "parameters") == weights);
  CHECK(Part(Of(Role::kEvaluator, all), "newer weights") == 3 * weights);
  CHECK(Part(Of(Role::kParamServer, all), "weights") == 6 * weights);
  // Input, torso and output.
  const double row = (4 + 100 + 2) * 4;
  CHECK(Part(learner, "activations") == 128 * row * 3);
}

TEST_CASE("a computation on an accelerator is counted there", "[unit]") {
  const std::vector<ProcessMemory> host = Estimate({});
  const std::vector<ProcessMemory> all = Estimate({{"learner.device", "cuda:1"}});
  const ProcessMemory& learner = Of(Role::kLearner, all);
  CHECK(learner.device == "cuda:1");
  CHECK(learner.device_bytes + learner.Bytes() == Approx(Of(Role::kLearner, host).Bytes()));
  CHECK(learner.device_bytes ==
        Part(Of(Role::kLearner, host), "parameters") + Part(Of(Role::kLearner, host), "activations"));
  CHECK(Of(Role::kActor, all).device.empty());
}

TEST_CASE("replay servers share a table's rows, as many as its limits leave in memory", "[unit]") {
  const Overrides two = {{"replay.servers", "2"}, {"replay.max_items", "1000000"}};
  // A row has 4 floats and an action; an item 48 bytes beside it.
  const auto tables = [&two](const Overrides& more) {
    Overrides overrides = two;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return Part(Of(Role::kReplayServer, Estimate(overrides)), "tables");
  };
  CHECK(tables({}) == 500'000 * (24 + 48));
  CHECK(tables({{"replay.max_bytes", "6000000"}}) == 3'000'000 + 500'000 * 48);
  CHECK(tables({{"replay.memory_limit", "2000000"}}) == 1'000'000 + 500'000 * 48);
}

TEST_CASE("an actor holds the rows that no server has acknowledged, for each server", "[unit]") {
  const Overrides blocks = {{"actor.lanes", "10"}, {"actor.chunk_rows", "4"}, {"actor.max_unacknowledged_blocks", "6"}};
  const auto rows = [&blocks](const Overrides& more) {
    Overrides overrides = blocks;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return Part(Of(Role::kActor, Estimate(overrides)), "rows to send");
  };
  CHECK(rows({}) == 7 * 40 * 24);
  CHECK(rows({{"replay.servers", "3"}}) == 3 * 7 * 40 * 24);
  CHECK(rows({{"actor.max_unacknowledged_blocks", "1000000"}, {"actor.max_unacknowledged_mebibytes", "1"}}) ==
        40 * 24 + (1 << 20));
}

TEST_CASE("an experiment that fits passes, and the error of a larger one names each process's memory", "[unit]") {
  const std::vector<ProcessMemory> small = Estimate({{"actor.processes", "3"}});
  REQUIRE_OK(CheckMemory(small, kGibibyte));
  const absl::Status refused = CheckMemory(small, 300 << 20);
  REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
  CHECK(refused.message() ==
        "about 352 MiB of memory are needed, and this machine, or its control group, has 300 MiB: param-server 8 MiB, "
        "replay-server 23 MiB, learner 64 MiB, 3 x actor 64 MiB (program 64 MiB), evaluator 64 MiB");
}

TEST_CASE("a process refuses a network of four billion parameters before it builds it", "[unit]") {
  const Experiment experiment = Parse(kFourBillion);
  REQUIRE_OK(CheckAgainstEnvironment(experiment, FakeEnvironmentSpec(), FakeAlgorithms()));
  for (const Role role : {Role::kLearner, Role::kActor, Role::kEvaluator, Role::kParamServer}) {
    INFO(RoleName(role));
    const absl::Status refused =
        CheckOwnMemory(role, experiment, FakeEnvironmentSpec(), FakeAlgorithms(), 32 * kGibibyte);
    REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
    CHECK_THAT(std::string(refused.message()), Catch::Contains(std::string(": ") + RoleName(role) + " "));
    REQUIRE_OK(CheckOwnMemory(role, experiment, FakeEnvironmentSpec(), FakeAlgorithms(), 1024 * kGibibyte));
  }
  REQUIRE_OK(CheckOwnMemory(Role::kReplayServer, experiment, FakeEnvironmentSpec(), FakeAlgorithms(), kGibibyte));
}

TEST_CASE("a process counts itself alone, and nothing if the experiment does not ask for it", "[unit]") {
  const Experiment experiment = Parse({{"actor.processes", "1000"}, {"evaluation.enabled", "false"}});
  REQUIRE_OK(CheckOwnMemory(Role::kActor, experiment, FakeEnvironmentSpec(), FakeAlgorithms(), kGibibyte));
  REQUIRE_OK(CheckOwnMemory(Role::kEvaluator, experiment, FakeEnvironmentSpec(), FakeAlgorithms(), 1));
}

TEST_CASE("the largest values that a file may have are estimated too", "[unit]") {
  const std::vector<ProcessMemory> all = Estimate({{"replay.max_items", "2147483648"},
                                                   {"replay.max_bytes", "9223372036854775807"},
                                                   {"actor.lanes", "65536"},
                                                   {"actor.chunk_rows", "65536"},
                                                   {"learner.prefetch_batches", "1024"},
                                                   {"learner.batch_size", "1000000"},
                                                   {"evaluation.episodes", "1000000"}});
  for (const ProcessMemory& memory : all) {
    CHECK(memory.Bytes() > 0);
  }
  REQUIRE_CODE(CheckMemory(all, 100 * kGibibyte), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace waggle
