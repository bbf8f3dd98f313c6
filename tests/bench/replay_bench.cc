// The replay table in this process: its sum tree, inserts, samples, priority updates and memory.

#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/random.h"
#include "replay_server/selectors/sum_tree.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"
#include "tests/bench/plain_tree.h"
#include "tests/bench/replay_load.h"
#include "tests/support/local/local_replay.h"

namespace waggle::bench {
namespace {

constexpr size_t kLeaves = 10'000'000;
constexpr size_t kUpdates = 1'000'000;
constexpr char kPlainTree[] = "a binary tree of sums, one after the other";

double MillisecondsOf(const std::function<void()>& call) {
  return absl::ToDoubleMilliseconds(TimePerCall([] {}, call).best);
}

std::vector<double> RandomWeights(size_t count) {
  Rng rng(1);
  std::vector<double> weights(count);
  for (double& weight : weights) {
    weight = rng.Uniform();
  }
  return weights;
}

Result SumTreeBuild() {
  const std::vector<double> weights = RandomWeights(kLeaves);
  std::unique_ptr<PlainTree> plain;
  const double limit = MillisecondsOf([&] { plain = std::make_unique<PlainTree>(weights); });
  std::unique_ptr<SumTree> tree;
  return Milliseconds(TimePerCall([&] { tree.reset(); }, [&] { tree = std::make_unique<SumTree>(weights); }), limit,
                      kPlainTree);
}

Result Finds(const std::vector<double>& queries) {
  std::vector<uint32_t> leaves(queries.size());
  double limit = 0;
  {
    const PlainTree plain(RandomWeights(kLeaves));
    limit = MillisecondsOf([&] {
      for (size_t i = 0; i < queries.size(); ++i) {
        leaves[i] = plain.Find(queries[i] * plain.Sum());
      }
    });
  }
  const SumTree tree(RandomWeights(kLeaves));
  std::vector<double> scaled = queries;
  for (double& query : scaled) {
    query *= tree.Sum();
  }
  return Milliseconds(TimePerCall([] {}, [&] { tree.FindBatch(scaled, leaves.data()); }), limit, kPlainTree);
}

// Queries are shares of the sum.
Result SumTreeFind() {
  std::vector<double> queries = RandomWeights(kLeaves);
  Rng rng(3);
  for (size_t i = queries.size(); i > 1; --i) {
    std::swap(queries[i - 1], queries[rng.UniformInt(i)]);
  }
  return Finds(queries);
}

// A stratified batch's queries: in order, as tables are sampled.
Result SumTreeFindStratified() {
  std::vector<double> queries = RandomWeights(kLeaves);
  for (size_t i = 0; i < queries.size(); ++i) {
    queries[i] = (static_cast<double>(i) + queries[i]) / static_cast<double>(kLeaves);
  }
  return Finds(queries);
}

std::vector<uint32_t> RandomLeaves(Rng* rng) {
  std::vector<uint32_t> leaves(kUpdates);
  for (uint32_t& leaf : leaves) {
    leaf = static_cast<uint32_t>(rng->UniformInt(kLeaves));
  }
  return leaves;
}

// The plain tree's time for the updates, in milliseconds.
double PlainUpdates(const std::vector<double>& weights) {
  PlainTree plain(RandomWeights(kLeaves));
  Rng rng(2);
  std::vector<uint32_t> leaves;
  const Timing timing = TimePerCall([&] { leaves = RandomLeaves(&rng); },
                                    [&] {
                                      for (size_t i = 0; i < kUpdates; ++i) {
                                        plain.Set(leaves[i], weights[i]);
                                      }
                                    });
  return absl::ToDoubleMilliseconds(timing.best);
}

// Updates of single leaves, or of all as one batch.
Result SumTreeSets(bool as_batch) {
  const std::vector<double> weights = RandomWeights(kUpdates);
  const double limit = PlainUpdates(weights);
  SumTree tree(RandomWeights(kLeaves));
  Rng rng(2);
  std::vector<uint32_t> leaves;
  return Milliseconds(TimePerCall([&] { leaves = RandomLeaves(&rng); },
                                  [&] {
                                    if (as_batch) {
                                      tree.SetBatch(leaves, weights);
                                      return;
                                    }
                                    for (size_t i = 0; i < kUpdates; ++i) {
                                      tree.Set(leaves[i], weights[i]);
                                    }
                                  }),
                      limit, kPlainTree);
}

// Ape-X DQN's three-step transitions for CartPole.
ReplayLoad CartPole() {
  ReplayLoad load = CartPoleWindows();
  load.table.max_items = 1'000'000;
  load.lanes = 32;
  return load;
}

// Transitions for goals in hindsight, from episodes of 50 steps: an item has the 50 rows after its first.
ReplayLoad Hindsight() {
  ReplayLoad load = CartPole();
  load.table.view.push_back({"goal", "observation", ViewField::Rows::kFuture});
  load.table.max_window = 51;
  load.table.transition_rows = 4;
  load.window = 51;
  return load;
}

// Items of 40 kB that share no rows.
ReplayLoad Large() {
  return BytesLoad("40kB", 40'000);
}

// A store with the load's table, and a writer that fills it block by block.
class Bed {
 public:
  explicit Bed(const ReplayLoad& load)
      : load_(load), store_(std::make_shared<ReplayStore>(ReplayStoreOptions())), connection_(store_), source_(load) {
    Must(connection_.CreateTable(load.table, StopToken()));
    writer_ = Must(connection_.NewWriter(WriterOptions(load, "bench")));
    table_ = Must(store_->FindTable(load.table.name));
    for (int64_t items = 0; items < load.table.max_items; items += ItemsPerBlock()) {
      Insert();
    }
  }

  int64_t ItemsPerBlock() const { return source_.ItemsPerBlock(); }
  void Insert() { Must(writer_->Append(source_.Next(), StopToken())); }

  std::shared_ptr<const BatchLayout> Layout() const {
    return std::make_shared<const BatchLayout>(Must(MakeBatchLayout(load_.table, load_.batch_size, size_t{1} << 40)));
  }
  SampledBatch Sample(const std::shared_ptr<const BatchLayout>& layout) {
    SampledBatch sampled;
    table_->Sample(layout, load_.batch_size,
                   [&sampled](absl::StatusOr<SampledBatch> batch) { sampled = Must(std::move(batch)); });
    return sampled;
  }
  Table& table() { return *table_; }

 private:
  const ReplayLoad load_;
  const std::shared_ptr<ReplayStore> store_;
  LocalReplayConnection connection_;
  BlockSource source_;
  std::unique_ptr<ReplayWriter> writer_;
  std::shared_ptr<Table> table_;
};

// Beside a memory copy of the rows that an insert stores: one row per item.
Result Insert(const ReplayLoad& load) {
  Bed bed(load);  // Full: each new item makes another one leave.
  const double limit = MemcpyBytesPerSecond(size_t{64} << 20) / load.RowBytes();
  return Rate(TimePerCall([&] { bed.Insert(); }), static_cast<double>(bed.ItemsPerBlock()), "items/s", limit,
              "memcpy of the rows");
}

// Beside a memory copy of a batch's bytes.
Result Sample(const ReplayLoad& load) {
  Bed bed(load);
  const auto layout = bed.Layout();
  const auto count = static_cast<double>(load.batch_size);
  const double limit = MemcpyBytesPerSecond(size_t{64} << 20) / (static_cast<double>(layout->total_bytes) / count);
  return Rate(TimePerCall([&] { bed.Sample(layout); }), count, "items/s", limit, "memcpy of the batch");
}

Result UpdatePriorities() {
  const ReplayLoad load = CartPole();
  Bed bed(load);
  const auto layout = bed.Layout();
  std::vector<SampledBatch> batches;
  for (int i = 0; i < 64; ++i) {
    batches.push_back(bed.Sample(layout));
  }
  const auto count = static_cast<size_t>(load.batch_size);
  std::vector<double> priorities(count);
  Rng rng(4);
  size_t next = 0;
  // One priority of a million after the other, in a table that has nothing else.
  std::vector<double> alone(static_cast<size_t>(2 * load.table.max_items));
  const Timing limit = TimePerCall([&] {
    const auto* const keys = static_cast<const uint64_t*>(batches[next++ % batches.size()].Data(kItemKey));
    for (size_t i = 0; i < count; ++i) {
      alone[keys[i]] = priorities[i];
    }
    __asm__ volatile("" : : "r"(alone.data()) : "memory");  // Keeps the compiler from removing the writes.
  });
  const auto update = [&] {
    const SampledBatch& batch = batches[next++ % batches.size()];
    for (double& priority : priorities) {
      priority = 0.1 + rng.Uniform();
    }
    const auto counts = Must(bed.table().UpdatePriorities(
        absl::MakeConstSpan(static_cast<const uint64_t*>(batch.Data(kItemKey)), count),
        absl::MakeConstSpan(static_cast<const uint64_t*>(batch.Data(kItemGeneration)), count), priorities));
    WAGGLE_CHECK(counts.applied == count, "all items are still there");
    // Reading the sum makes the table do its postponed work.
    WAGGLE_CHECK(bed.table().info().priority_sum > 0, "there are priorities");
  };
  return Rate(TimePerCall(update), static_cast<double>(count), "updates/s",
              static_cast<double>(count) / absl::ToDoubleSeconds(limit.best), "writing into an array");
}

double ResidentBytes() {
  malloc_trim(0);
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  WAGGLE_CHECK(file != nullptr, "/proc is there");
  unsigned long long size = 0;
  unsigned long long resident = 0;
  WAGGLE_CHECK(std::fscanf(file, "%llu %llu", &size, &resident) == 2, "statm has two numbers");
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

Result Memory() {
  const double before = ResidentBytes();
  Bed bed(CartPole());
  const double bytes = (ResidentBytes() - before) / static_cast<double>(bed.table().info().items);
  return {bytes, bytes, "bytes/item", 2 * 52, "twice a transition's 52 bytes", /*less_is_better=*/true};
}

int Run(int argc, char** argv) {
  return RunCases(argc, argv,
                  {
                      {"replay/memory_cartpole", Memory},  // First, while the heap is fresh.
                      {"replay/sum_tree_build_10M", SumTreeBuild},
                      {"replay/sum_tree_find_10M", SumTreeFind},
                      {"replay/sum_tree_find_stratified_10M", SumTreeFindStratified},
                      {"replay/sum_tree_set_batch_1M", [] { return SumTreeSets(/*as_batch=*/true); }},
                      {"replay/sum_tree_set_1M", [] { return SumTreeSets(/*as_batch=*/false); }},
                      {"replay/insert_cartpole", [] { return Insert(CartPole()); }},
                      {"replay/sample_cartpole_512", [] { return Sample(CartPole()); }},
                      {"replay/insert_hindsight", [] { return Insert(Hindsight()); }},
                      {"replay/sample_hindsight_512", [] { return Sample(Hindsight()); }},
                      {"replay/insert_40kB", [] { return Insert(Large()); }},
                      {"replay/sample_40kB_256", [] { return Sample(Large()); }},
                      {"replay/update_priorities_512", UpdatePriorities},
                  });
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::Run(argc, argv);
}
