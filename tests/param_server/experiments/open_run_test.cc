#include "param_server/experiments/open_run.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "param_server/run/hub_state.h"
#include "tests/cli/file_contents.h"
#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

class RunFixture : public HostFixture {
 public:
  // Submits an experiment and waits until it runs with its workers.
  std::string Begin() {
    Start();
    WholeCrew();
    std::string id = Submit("x");
    RoundsUntil("orders",
                [&] { return workers.at("actor").held_size() == 1 && workers.at("evaluator").held_size() == 1; });
    return id;
  }
  void Stop(const std::string& id) {
    REQUIRE_OK(host->Stop(id));
    EndAll();
  }
  nlohmann::json Summary(const std::string& id) { return nlohmann::json::parse(Contents(Output(id) + "summary.json")); }
};

TEST_CASE_METHOD(RunFixture, "a summary has the counts of all workers and of all hubs", "[unit]") {
  const std::string id = Begin();
  Work(id, "actor-1", Role::kActor, {"", {{"env_steps", 5}}, {{"first_env_step_unix_seconds", 4e9}}, {}, ""});
  Work(id, "learner-1", Role::kLearner,
       {"", {{"items_sampled", 10}, {"policy_lag_sum", 100}}, {{"policy_lag_max", 80}}, {}, ""});
  for (int i = 0; i < 150; ++i) {
    Work(id, absl::StrCat("replay-", i), Role::kReplayServer, {"", {{"items_inserted", 3}}, {}, {}, ""});
  }
  host.reset();
  Start();
  RoundsUntil("it goes on", [&] { return Find(id) != nullptr; });
  Work(id, "learner-2", Role::kLearner,
       {"", {{"items_sampled", 10}, {"policy_lag_sum", 20}}, {{"policy_lag_max", 7}}, {}, ""});
  Stop(id);
  RoundsUntil("its end", [&] { return IsClosed(id) && std::filesystem::exists(Output(id) + "summary.json"); });
  const nlohmann::json summary = Summary(id);
  CHECK(summary["policy_lag"]["mean"] == 6.0);
  CHECK(summary["policy_lag"]["max"] == 80.0);
  CHECK(summary["seconds_to_first_env_step"] > 0.0);
  REQUIRE(summary["wall_seconds"] > 0.0);
  CHECK(summary["rates"]["items_inserted_per_s"].get<double>() * summary["wall_seconds"].get<double>() == Approx(450));
}

TEST_CASE_METHOD(RunFixture, "a closed experiment has a summary", "[unit]") {
  const std::string id = Begin();
  const std::shared_ptr<RunServices> call = Find(id);  // Holds the run.
  Stop(id);
  RoundsUntil("its end", [&] { return IsClosed(id); });
  CHECK(Summary(id)["outcome"] == "stopped");
}

TEST_CASE_METHOD(RunFixture, "an experiment is not closed before its summary is written", "[unit]") {
  const std::string id = Begin();
  std::filesystem::create_directories(Output(id) + "summary.json/in the way");
  Stop(id);
  RoundsUntil("why it is not closed is told",
              [&] { return Log(id).find("it is not closed yet: ") != std::string::npos; });
  CHECK_FALSE(IsClosed(id));
  CHECK_THAT(ValueOf(host->Get(id)).reason(), Catch::Contains("not closed yet") && Catch::Contains("summary.json"));
  std::filesystem::remove_all(Output(id) + "summary.json");
  RoundsUntil("its end", [&] { return IsClosed(id); });
  CHECK(Summary(id)["reason"] == "stopped by a user");
}

TEST_CASE_METHOD(RunFixture, "an experiment is not closed before its last steps are on the disk", "[unit]") {
  const std::string id = Begin();
  REQUIRE_OK(host->Stop(id));
  const std::string in_the_way = HubFolder(id) + "/hub.state.new";
  const std::shared_ptr<RunServices> run = Find(id);
  run->hub->Order({"late", Role::kActor, /*process_id=*/77, /*host=*/"h", ""}, /*index=*/1'000);
  REQUIRE_OK(run->hub->Join({"late", "", 0, {}}));
  std::filesystem::create_directories(in_the_way);
  WorkerReport report;
  report.worker_id = "late";
  report.figures.counters["env_steps"] = 17;
  REQUIRE_OK(run->hub->Heartbeat(report));
  run->hub->Leave("late");
  EndAll();
  RoundsUntil("why it is not closed is told",
              [&] { return Log(id).find("it is not closed yet: ") != std::string::npos; });
  CHECK_FALSE(IsClosed(id));
  std::filesystem::remove(in_the_way);
  RoundsUntil("its end", [&] { return IsClosed(id); });
  CHECK(ValueOf(DecodeHubRecord(ValueOf(ReadSmallFile(HubFolder(id) + "/hub.state", 1 << 20)))).progress.env_steps ==
        17);
  CHECK(Summary(id)["env_steps"] == 17);
}

TEST_CASE_METHOD(RunFixture, "the earlier summary stays if an experiment is stopped before it goes on", "[unit]") {
  const std::string id = Begin();
  Stop(id);
  RoundsUntil("its end", [&] { return IsClosed(id) && std::filesystem::exists(Output(id) + "summary.json"); });
  const std::string before = Contents(Output(id) + "summary.json");
  const std::string state = HubFolder(id) + "/hub.state";
  const std::string kept = Contents(state);
  host.reset();
  std::filesystem::remove(state);
  {
    StuckRead stuck(state);
    Start();
    REQUIRE_OK(host->Resume(id));
    RoundsUntil("its files are read", [&] { return stuck.HasReader(); });
    REQUIRE_OK(host->Stop(id));
    stuck.LetGo(kept);
  }
  host.reset();  // Which waits for what has begun.
  CHECK(Contents(state) != "");
  Start();
  CHECK(Contents(Output(id) + "summary.json") == before);
}

TEST_CASE_METHOD(RunFixture, "no curves are drawn for a run without an environment step", "[unit]") {
  const std::string id = Begin();
  const bool steps = GENERATE(false, true);
  if (steps) {
    Work(id, "actor-1", Role::kActor, {"", {{"env_steps", 5}}, {}, {}, ""});
  }
  Stop(id);
  RoundsUntil("its end", [&] { return IsClosed(id); });
  host.reset();  // Which waits for what has begun.
  CHECK(drawn == (steps ? 1 : 0));
}

}  // namespace
}  // namespace waggle::testing
