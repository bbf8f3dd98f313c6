#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/config/table/batch_layout.h"
#include "tests/replay_server/storage/durable_replay.h"

// Tables whose rows have their numbers as rewards.

namespace waggle::testing {

inline std::shared_ptr<WriterSession> Open(DurableReplay* replay, const std::string& id,
                                           const std::vector<std::string>& tables, uint64_t incarnation = 7) {
  const auto table = ValueOf(replay->store->FindTable(tables.front()));
  const auto session = ValueOf(replay->store->OpenWriter(id, tables, table->created().signature));
  REQUIRE_OK(session->Claim(incarnation));
  return session;
}

inline absl::StatusOr<SampledBatch> AwaitSample(Table* table, int64_t count) {
  const auto layout =
      std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->created(), count, size_t{1} << 30)));
  Called called;
  absl::StatusOr<SampledBatch> sampled;
  table->Sample(layout, count, [&](absl::StatusOr<SampledBatch> batch) {
    sampled = std::move(batch);
    called(sampled.status());
  });
  called.Wait().IgnoreError();
  return sampled;
}

// Samples `count` items, and returns their rewards.
inline std::vector<float> SampleRewards(Table* table, int64_t count) {
  return Rewards(ValueOf(AwaitSample(table, count)), count);
}

// The rewards of all items of a table that samples each once.
inline std::multiset<float> Drain(Table* table) {
  const std::vector<float> rewards = SampleRewards(table, table->info().items);
  return {rewards.begin(), rewards.end()};
}

inline TableConfig OnceTable(const std::string& name, Durability durability) {
  TableConfig config = DurableTable(name, durability);
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 1;
  return config;
}

inline std::multiset<float> Range(int from, int to) {
  std::multiset<float> range;
  for (int i = from; i < to; ++i) {
    range.insert(static_cast<float>(i));
  }
  return range;
}

// The number of records of a kind among the blocks.
inline int64_t CountRecords(Database* database, char kind) {
  const std::unique_ptr<rocksdb::Iterator> it(
      database->get()->NewIterator(rocksdb::ReadOptions(), database->family(Database::Family::kBlocks)));
  int64_t count = 0;
  for (it->Seek(std::string(1, kind)); it->Valid() && it->key()[0] == kind; it->Next()) {
    ++count;
  }
  return count;
}

}  // namespace waggle::testing
