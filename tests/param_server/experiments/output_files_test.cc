#include "param_server/experiments/output_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/file_contents.h"
#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;

TEST_CASE("A run that is opened has its experiment.yaml and no summary", "[unit]") {
  const testing::TemporaryFolder folder;
  REQUIRE_OK(WriteSummary(folder.path(), "{}"));
  REQUIRE_OK(RemoveSummary(folder.path()));
  REQUIRE_OK(RemoveSummary(folder.path()));
  REQUIRE_OK(WriteBeginning(folder.path(), "experiment:\n  seed: 3\n"));
  CHECK(Contents(folder.File("experiment.yaml")) == "experiment:\n  seed: 3\n");
  CHECK_FALSE(std::filesystem::exists(folder.File("summary.json")));
  REQUIRE_OK(WriteBeginning(folder.path(), "x"));
  const absl::Status away = WriteBeginning(folder.File("none"), "x");
  REQUIRE_CODE(away, absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(away.message()), Catch::Contains(folder.File("none/experiment.yaml")));
}

TEST_CASE("The summary of a closed run has its record and its overview", "[unit]") {
  ExperimentRecord record;
  record.id = "pole-x7k2q";
  record.name = "pole";
  record.algorithm = "apex_dqn";
  record.environment = "CartPole-v1";
  record.seed = 7;
  record.state = RunState::kStopped;
  record.reason = "stopped by a user";
  record.started = absl::FromUnixSeconds(1'000'000);
  record.ended = absl::FromUnixSeconds(1'000'120);
  const auto json = nlohmann::json::parse(SummaryJson(record, testing::SampleOverview()));
  CHECK(json["id"] == "pole-x7k2q");
  CHECK(json["experiment"] == "pole");
  CHECK(json["seed"] == 7);
  CHECK(json["outcome"] == "stopped");
  CHECK(json["reason"] == "stopped by a user");
  CHECK(json["wall_seconds"] == 10.0);
  CHECK(json["seconds_to_first_env_step"] == 1.25);
  CHECK(json["env_steps"] == 198'432);
  CHECK(json["rates"]["env_steps_per_s"] == 19'843.2);
  CHECK(json["processes"].empty());
}

}  // namespace
}  // namespace waggle
