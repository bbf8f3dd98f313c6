#include "tests/support/local/local_replay.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/threads/thread.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/replay_server/table/held_log.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/replay_conformance.h"
#include "tests/support/limited_replay.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {

TEST_CASE("the in-process replay keeps the port's contract", "[unit]") {
  testing::CheckReplayConformance(
      [] { return std::make_shared<LocalReplayConnection>(std::make_shared<ReplayStore>(ReplayStoreOptions{})); });
}

TEST_CASE("in process a sampler that asks for nothing ahead is given what there is when it asks", "[unit]") {
  testing::CheckSamplerAsksInTime(
      [] { return std::make_shared<LocalReplayConnection>(std::make_shared<ReplayStore>(ReplayStoreOptions{})); });
}

TEST_CASE("options that are refused over gRPC are refused in process", "[unit]") {
  LocalReplayConnection connection(std::make_shared<ReplayStore>(ReplayStoreOptions{}));
  const TableConfig table = testing::SimpleTable("t");
  REQUIRE_OK(connection.CreateTable(table, StopToken()));
  ReplayWriterOptions writer = testing::SimpleWriter("w", table);
  writer.max_unacknowledged_blocks = 0;
  REQUIRE_CODE(connection.NewWriter(writer).status(), absl::StatusCode::kInvalidArgument);
  ReplaySamplerOptions sampler = testing::SimpleSampler(table, 4);
  sampler.prefetch = -1;
  REQUIRE_CODE(connection.NewSampler(sampler).status(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("views, selectors and compression are the same in process", "[unit]") {
  testing::CheckReplayViewConformance(
      [] { return std::make_shared<LocalReplayConnection>(std::make_shared<ReplayStore>(ReplayStoreOptions{})); });
}

namespace {

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

TEST_CASE("the port's contract is kept where nearly all rows are on disk", "[unit]") {
  testing::CheckReplayConformance(NewLimitedReplay);
}

TEST_CASE("views, selectors and compression are the same where nearly all rows are on disk", "[unit]") {
  testing::CheckReplayViewConformance(NewLimitedReplay);
}

TEST_CASE("a store without a disk refuses a memory limit, and says what it lacks", "[unit]") {
  LocalReplayConnection connection(std::make_shared<ReplayStore>(ReplayStoreOptions{}));
  TableConfig config = testing::SmallTable();
  config.memory_limit = 1000;
  const absl::Status refused = connection.CreateTable(config, StopToken());
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(refused.message(), "--data-dir"));
}

TEST_CASE("a sampler keeps as many requests outstanding as it prefetches, and takes them back", "[unit]") {
  const auto store = std::make_shared<ReplayStore>(ReplayStoreOptions{});
  LocalReplayConnection connection(store);
  const StopToken stop;
  const TableConfig config = testing::SmallTable();
  REQUIRE_OK(connection.CreateTable(config, stop));
  const std::shared_ptr<Table> table = testing::ValueOf(store->FindTable(config.name));
  table->Insert({testing::OneRow(1)}, [](const absl::Status&) {});
  ReplaySamplerOptions options;
  options.table = config;
  options.batch_size = 2;
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

// The first ids of 50 items drawn from 100 under a seed.
std::vector<int64_t> Drawn(uint64_t seed) {
  const auto store = std::make_shared<ReplayStore>(ReplayStoreOptions{});
  LocalReplayConnection connection(store);
  TableConfig config = testing::SmallTable();
  config.seed = seed;
  REQUIRE_OK(connection.CreateTable(config, StopToken()));
  const std::shared_ptr<Table> table = testing::ValueOf(store->FindTable(config.name));
  for (uint64_t id = 0; id < 100; ++id) {
    table->Insert({testing::OneRow(id)}, [](const absl::Status&) {});
  }
  ReplaySamplerOptions options;
  options.table = config;
  options.batch_size = 50;
  const SampledBatch batch = testing::ValueOf(testing::ValueOf(connection.NewSampler(options))->Next(StopToken()));
  const auto* const ids = static_cast<const int64_t*>(batch.Data("first_id"));
  return {ids, ids + 50};
}

TEST_CASE("what is drawn follows from the table's seed", "[unit]") {
  REQUIRE(Drawn(7) == Drawn(7));
  REQUIRE(Drawn(7) != Drawn(1));
}

TEST_CASE("closing the store ends a sampler that waits", "[unit]") {
  const auto store = std::make_shared<ReplayStore>(ReplayStoreOptions{});
  LocalReplayConnection connection(store);
  const StopToken stop;
  REQUIRE_OK(connection.CreateTable(testing::SmallTable(), stop));
  ReplaySamplerOptions options;
  options.table = testing::SmallTable();
  options.batch_size = 1;
  const std::unique_ptr<ReplaySampler> sampler = testing::ValueOf(connection.NewSampler(options));
  absl::Status status;
  {
    const Thread waiting("sampler", [&] { status = sampler->Next(stop).status(); });
    store->Close();
  }
  REQUIRE_CODE(status, absl::StatusCode::kCancelled);
}

TEST_CASE("options that cannot work are refused", "[unit]") {
  LocalReplayConnection connection(std::make_shared<ReplayStore>(ReplayStoreOptions{}));
  REQUIRE_OK(connection.CreateTable(testing::SmallTable(), StopToken()));
  ReplaySamplerOptions sampler;
  sampler.table = testing::SmallTable();
  sampler.batch_size = 0;
  REQUIRE_CODE(connection.NewSampler(sampler), absl::StatusCode::kInvalidArgument);
  sampler.batch_size = 1 << 20;
  sampler.max_batch_bytes = 1 << 10;
  REQUIRE_CODE(connection.NewSampler(sampler), absl::StatusCode::kResourceExhausted);
  sampler.prefetch = -1;
  REQUIRE_CODE(connection.NewSampler(sampler), absl::StatusCode::kInvalidArgument);
  ReplayWriterOptions writer;
  writer.writer_id = "writer";
  writer.tables = {"small"};
  writer.signature = testing::SmallTable().signature;
  writer.max_unacknowledged_blocks = 0;
  REQUIRE_CODE(connection.NewWriter(writer), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("priority updates of a logged table count, and are flushed, once they are on disk", "[unit]") {
  testing::HeldLog log;
  const auto store = std::make_shared<ReplayStore>(ReplayStoreOptions{}, &log);
  LocalReplayConnection connection(store);
  TableConfig config = testing::SmallTable();
  config.durability = Durability::kLog;
  REQUIRE_OK(connection.CreateTable(config, StopToken()));
  const auto updater = testing::ValueOf(connection.NewPriorityUpdater(config.name));
  log.Hold();
  for (int i = 0; i < 3; ++i) {
    REQUIRE_OK(updater->Update({0}, {1}, {2.0}));  // There is no such item.
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

TEST_CASE("creating a table that is to last waits until it is on disk, or is stopped", "[unit]") {
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
