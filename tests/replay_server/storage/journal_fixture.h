#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/config/table/batch_layout.h"
#include "tests/replay_server/storage/durable_replay.h"

// Tables whose rows are told apart by their rewards, which are their numbers.

namespace waggle::testing {

inline std::shared_ptr<WriterSession> Open(DurableReplay* replay, const std::string& id,
                                           const std::vector<std::string>& tables, uint64_t incarnation = 7) {
  const auto table = ValueOf(replay->store->FindTable(tables.front()));
  const auto session = ValueOf(replay->store->OpenWriter(id, tables, table->created().signature));
  REQUIRE_OK(session->Claim(incarnation));
  return session;
}

// Samples so many items, and returns their rewards, which are the numbers of their rows.
inline std::vector<float> SampleRewards(Table* table, int64_t count) {
  const auto layout =
      std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->created(), count, size_t{1} << 30)));
  Called called;
  std::vector<float> rewards;
  table->Sample(layout, count, [&](absl::StatusOr<SampledBatch> batch) {
    if (batch.ok()) {
      rewards = Rewards(*batch, count);
    }
    called(batch.status());
  });
  REQUIRE_OK(called.Wait());
  return rewards;
}

// The rewards of a table that gives each item once.
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

}  // namespace waggle::testing
