#include "actor/recording/file_recording.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actor/acting/random_policy.h"
#include "actor/environments/environment_lanes.h"
#include "actor/environments/local_vector_environment.h"
#include "common/replay/file/replay_file.h"
#include "tests/actor/recording/recorded_rows.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ColumnOf;
using testing::TemporaryFolder;
using testing::ValueOf;

absl::StatusOr<EpisodeOutcomes> Record(const std::string& path, int64_t episodes, const StopToken& stop = {}) {
  EnvironmentOptions options;
  options.name = "Pendulum-v1";
  LocalVectorEnvironment environment(
      ValueOf(MakeEnvironments(*ValueOf(BuiltinEnvironments().Find(options.name)), options, 1, Rng(5))));
  RandomPolicy policy(environment.spec(), 1, Rng(2));
  return RecordToFile(path, episodes, ActMode::kGreedy, &environment, &policy, stop);
}

TEST_CASE("A recording is a replay file whose reader returns its rows", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("pendulum.replay");
  const EpisodeOutcomes outcomes = ValueOf(Record(path, 7));
  CHECK(outcomes.lengths == std::vector<double>(7, 200.0));

  const auto file = ValueOf(ReplayFileReader::Open(path));
  CHECK(file->config().name == "episodes");
  REQUIRE_OK(file->config().Validate());
  std::vector<InsertBlock> blocks;
  size_t items = 0;
  while (std::optional<InsertBlock> block = ValueOf(file->Next())) {
    items += block->items.size();
    blocks.push_back(*std::move(block));
  }
  CHECK(items == 7 * 200);
  CHECK(items == file->items());
  const auto rewards = ColumnOf<float>(blocks, file->config().signature, "reward");
  REQUIRE(rewards.size() == 7 * 201);
  double sum = 0;
  for (size_t row = 0; row < 200; ++row) {
    sum += static_cast<double>(rewards[row]);
  }
  CHECK(sum == outcomes.returns[0]);
}

TEST_CASE("An existing file does not change, and a failed recording leaves no file", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("pendulum.replay");
  REQUIRE_OK(Record(path, 1).status());
  const auto size = std::filesystem::file_size(path);
  REQUIRE_CODE(Record(path, 2), absl::StatusCode::kAlreadyExists);
  CHECK(std::filesystem::file_size(path) == size);
  const StopToken stopped;
  stopped.RequestStop();
  REQUIRE_CODE(Record(folder.File("other"), 1, stopped), absl::StatusCode::kCancelled);
  CHECK_FALSE(Record(folder.File("no/such/folder"), 1).ok());
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

class NeverActs final : public Policy {
 public:
  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {}; }
  absl::Status Act(const PolicyInput&, ActMode, PolicyOutput*) override { return absl::InternalError("it acted"); }
  absl::Status LoadWeights(const ModelSnapshot&) override { return absl::OkStatus(); }
};

TEST_CASE("A recording that Minari cannot hold is refused before the first step", "[unit]") {
  const TemporaryFolder folder;
  EnvironmentOptions options;
  options.name = "Pendulum-v1";
  LocalVectorEnvironment environment(
      ValueOf(MakeEnvironments(*ValueOf(BuiltinEnvironments().Find(options.name)), options, 1, Rng(5))));
  NeverActs policy;
  // A Python that refuses everything.
  REQUIRE_CODE(RecordToMinari(folder.File("minari"), "false", 1, ActMode::kGreedy, &environment, &policy, StopToken()),
               absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
