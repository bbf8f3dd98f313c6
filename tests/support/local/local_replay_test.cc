#include "tests/support/local/local_replay.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/reason.h"
#include "common/base/threads/thread.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/replay_server/table/held_log.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/replay_conformance.h"
#include "tests/support/limited_replay.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {

namespace {

std::shared_ptr<ReplayConnection> NewReplay() {
  return std::make_shared<LocalReplayConnection>(std::make_shared<ReplayStore>(ReplayStoreOptions{}));
}

// A store whose rows are nearly all on a fake disk.
struct LimitedStore {
  ChunkTiers tiers{std::make_shared<testing::FakeColdRows>()};
  std::shared_ptr<ReplayStore> store = std::make_shared<ReplayStore>(ReplayStoreOptions{}, /*log=*/nullptr, &tiers);
};

std::shared_ptr<ReplayConnection> NewLimitedReplay() {
  const auto limited = std::make_shared<LimitedStore>();
  return std::make_shared<testing::LimitedReplayConnection>(std::make_shared<LocalReplayConnection>(limited->store),
                                                            /*limit=*/200, limited);
}

}  // namespace

TEST_CASE("the in-process replay keeps the port's contract", "[unit]") {
  testing::CheckReplayConformance(NewReplay);
  testing::CheckReplayViewConformance(NewReplay);
}

TEST_CASE("a replay whose rows are nearly all on disk keeps the port's contract", "[unit]") {
  testing::CheckReplayConformance(NewLimitedReplay);
  testing::CheckReplayViewConformance(NewLimitedReplay);
}

TEST_CASE("an in-process sampler without prefetching gets the items that exist when it asks", "[unit]") {
  testing::CheckSamplerAsksInTime(NewReplay);
}

TEST_CASE("in-process options that cannot work are refused", "[unit]") {
  const auto connection = NewReplay();
  const TableConfig table = testing::SimpleTable("t");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  ReplayWriterOptions writer = testing::SimpleWriter("w", table);
  writer.max_unacknowledged_blocks = 0;
  REQUIRE_CODE(connection->NewWriter(writer), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(connection->NewSampler(testing::SimpleSampler(table, 0)), absl::StatusCode::kInvalidArgument);
  ReplaySamplerOptions sampler = testing::SimpleSampler(table, 1 << 20);
  sampler.max_batch_bytes = 1 << 10;
  REQUIRE_CODE(connection->NewSampler(sampler), absl::StatusCode::kResourceExhausted);
  sampler.prefetch = -1;
  REQUIRE_CODE(connection->NewSampler(sampler), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a store without a disk refuses a memory limit", "[unit]") {
  LocalReplayConnection connection(std::make_shared<ReplayStore>(ReplayStoreOptions{}));
  TableConfig config = testing::SmallTable();
  config.memory_limit = 1000;
  REQUIRE(ReasonOf(connection.CreateTable(config, StopToken())) == "no_data_folder");
}

TEST_CASE("a sampler has as many outstanding requests as it prefetches, and cancels them at its end", "[unit]") {
  const auto store = std::make_shared<ReplayStore>(ReplayStoreOptions{});
  LocalReplayConnection connection(store);
  const StopToken stop;
  const TableConfig config = testing::SmallTable();
  REQUIRE_OK(connection.CreateTable(config, stop));
  const std::shared_ptr<Table> table = testing::ValueOf(store->FindTable(config.name));
  table->Insert({testing::OneRow(1)}, [](const absl::Status&) {});
  ReplaySamplerOptions options = testing::SimpleSampler(config, 2);
  options.prefetch = 3;
  std::unique_ptr<ReplaySampler> sampler = testing::ValueOf(connection.NewSampler(options));
  REQUIRE(table->info().items_sampled == 0);
  REQUIRE_OK(sampler->Next(stop));
  REQUIRE(table->info().items_sampled == 3 * 2);
  table->Clear();
  for (int i = 0; i < 2; ++i) {
    REQUIRE_OK(sampler->Next(stop));  // Prefetched before the table was cleared.
  }
  REQUIRE(table->info().samples_waiting == 2);
  sampler.reset();
  REQUIRE(table->info().samples_waiting == 0);
}

TEST_CASE("priority updates of a logged table count, and are flushed, after they are on disk", "[unit]") {
  testing::HeldLog log;
  const auto store = std::make_shared<ReplayStore>(ReplayStoreOptions{}, &log);
  LocalReplayConnection connection(store);
  TableConfig config = testing::SmallTable();
  config.durability = Durability::kLog;
  REQUIRE_OK(connection.CreateTable(config, StopToken()));
  const auto updater = testing::ValueOf(connection.NewPriorityUpdater(config.name));
  log.Hold();
  for (int i = 0; i < 3; ++i) {
    REQUIRE_OK(updater->Update({0}, {1}, {2.0}));  // No such item exists.
  }
  REQUIRE(updater->counts().unknown == 0);
  REQUIRE_CODE(updater->Flush(absl::ZeroDuration()), absl::StatusCode::kDeadlineExceeded);
  REQUIRE(log.AnswerAll(absl::OkStatus()) == 1);
  REQUIRE(updater->counts().unknown == 1);
  REQUIRE_CODE(updater->Flush(absl::ZeroDuration()), absl::StatusCode::kDeadlineExceeded);
  REQUIRE(log.AnswerAll(absl::OkStatus()) == 1);  // The others together.
  REQUIRE(updater->counts().unknown == 3);
  REQUIRE_OK(updater->Flush(absl::ZeroDuration()));
  REQUIRE_OK(updater->Update({0}, {1}, {2.0}));
  log.AnswerAll(absl::UnavailableError("no disk"));
  REQUIRE_CODE(updater->Flush(absl::InfiniteDuration()), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(updater->Update({0}, {1}, {2.0}), absl::StatusCode::kUnavailable);
  REQUIRE(updater->counts().unknown == 3);
}

TEST_CASE("creating a logged table waits until it is on disk, or for a stop", "[unit]") {
  testing::HeldLog log;
  log.Hold();
  LocalReplayConnection connection(std::make_shared<ReplayStore>(ReplayStoreOptions{}, &log));
  TableConfig config = testing::SmallTable();
  config.durability = Durability::kLog;
  const StopToken stop;
  absl::Status status;
  {
    const Thread creating("creating", [&] { status = connection.CreateTable(config, stop); });
    testing::Eventually("the answer", [&] { return log.AnswerAll(absl::OkStatus()) == 1; });
  }
  REQUIRE_OK(status);
  {
    const Thread creating("creating", [&] { status = connection.CreateTable(config, stop); });
    stop.RequestStop();
  }
  REQUIRE_CODE(status, absl::StatusCode::kCancelled);
}

}  // namespace waggle
