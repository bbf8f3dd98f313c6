// A recording fills a table. Its steps are the items.

#include <memory>

#include "actor/environments/environment_lanes.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/recording/episode_recorder.h"
#include "actor/recording/file_recording.h"
#include "common/replay/file/replay_transfer.h"
#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/local/local_replay.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::CountingPolicy;
using testing::ValueOf;

TEST_CASE("a table that a recording fills has the steps of its episodes", "[unit]") {
  const testing::TemporaryFolder folder;
  LocalVectorEnvironment environment(
      ValueOf(MakeEnvironments(CountingEnvironment::Definition(9), EnvironmentOptions(), 1, Rng(4))));
  CountingPolicy policy;
  const EpisodeOutcomes outcomes =
      ValueOf(RecordToFile(folder.File("episodes"), 200, ActMode::kExplore, &environment, &policy, StopToken()));
  uint64_t steps = 0;
  for (const double length : outcomes.lengths) {
    steps += static_cast<uint64_t>(length);
  }

  LocalReplayConnection replay(std::make_shared<ReplayStore>(ReplayStoreOptions()));
  CHECK(ValueOf(ImportTable(folder.File("episodes"), "", &replay, StopToken())).items == steps);
  constexpr int64_t kBatch = 64;
  const auto sampler =
      ValueOf(replay.NewSampler(testing::SimpleSampler(RecordedTable(environment.spec()).table, kBatch)));
  const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
  CHECK(batch.table_items == steps);
  const auto* const shown = static_cast<const float*>(batch.Data("observation"));
  const auto* const next = static_cast<const float*>(batch.Data("next_observation"));
  const auto* const actions = static_cast<const int64_t*>(batch.Data("action"));
  const auto* const rewards = static_cast<const float*>(batch.Data("reward"));
  for (int64_t i = 0; i < kBatch; ++i) {
    const auto step = static_cast<int64_t>(shown[3 * i + 2]);
    REQUIRE(next[3 * i + 1] == shown[3 * i + 1]);
    REQUIRE(next[3 * i + 2] == shown[3 * i + 2] + 1);
    REQUIRE(actions[i] == step % 3);
    REQUIRE(rewards[i] == static_cast<float>(10 * step + step % 3));
  }
}

}  // namespace
}  // namespace waggle
