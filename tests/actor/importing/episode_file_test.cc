#include "actor/importing/episode_file.h"

#include <cstdint>
#include <limits>

#include "actor/acting/random_policy.h"
#include "actor/environments/environment_lanes.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/importing/episode_importer.h"
#include "actor/recording/file_recording.h"
#include "common/replay/file/replay_file.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

TEST_CASE("A recording says what its environment is, and its episodes pass all checks", "[unit]") {
  const TemporaryFolder folder;
  for (const std::string& name : BuiltinEnvironments().Names()) {
    INFO(name);
    const std::string path = folder.File(name + ".replay");
    EnvironmentOptions options;
    options.name = name;
    LocalVectorEnvironment environment(
        ValueOf(MakeEnvironments(*ValueOf(BuiltinEnvironments().Find(name)), options, 1, Rng(5))));
    RandomPolicy policy(environment.spec(), 1, Rng(2));
    const EpisodeOutcomes outcomes =
        ValueOf(RecordToFile(path, 2, ActMode::kGreedy, &environment, &policy, StopToken()));
    const auto source = ValueOf(OpenEpisodeFile(path));
    REQUIRE(source->environment().has_value());
    CHECK(*source->environment() == environment.spec());
    REQUIRE_OK(CheckSource(*source, environment.spec()));
    for (int pass = 0; pass < 2; ++pass) {
      const RecordedCounts counts = ValueOf(CheckEpisodes(source.get(), environment.spec(), StopToken()));
      CHECK(counts.episodes == 2);
      CHECK(static_cast<double>(counts.steps) == outcomes.lengths[0] + outcomes.lengths[1]);
    }
  }
}

TEST_CASE("A replay file of several streams is not read as episodes", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("table.replay");
  const auto file = ValueOf(ReplayFileWriter::Create(path, testing::SimpleTable("t"), 3));
  InsertBlock block = testing::SimpleBlock(0, 3);
  block.chunks[0].stream = 1;
  block.items.clear();
  REQUIRE_OK(file->Append(block));
  REQUIRE_OK(file->Finish());
  const auto source = ValueOf(OpenEpisodeFile(path));
  CHECK_FALSE(source->environment().has_value());
  const absl::Status status = source->Next().status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("stream 1"));
}

TEST_CASE("A replay file of compressed columns, or with fewer bytes than its rows have, is not read", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("short.replay");
  {
    const auto file = ValueOf(ReplayFileWriter::Create(path, testing::SimpleTable("t"), 3));
    InsertBlock block = testing::SimpleBlock(0, 3);
    block.chunks[0].rows = std::numeric_limits<uint32_t>::max();
    block.items.clear();
    REQUIRE_OK(file->Append(block));
    REQUIRE_OK(file->Finish());
  }
  CHECK(absl::IsDataLoss(ValueOf(OpenEpisodeFile(path))->Next().status()));

  TableConfig compressed = testing::SimpleTable("t");
  compressed.compression = {{compressed.signature[0].name, Codec::kLz4}};
  const std::string other = folder.File("compressed.replay");
  REQUIRE_OK(ValueOf(ReplayFileWriter::Create(other, compressed, 3))->Finish());
  CHECK(absl::IsInvalidArgument(OpenEpisodeFile(other).status()));
}

}  // namespace
}  // namespace waggle
