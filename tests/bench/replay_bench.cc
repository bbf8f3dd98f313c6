// The replay table in this process: its sum tree, inserts, samples, priority updates and memory.

#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
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

Result SumTreeSetBatch() {
  const std::vector<double> weights = RandomWeights(kUpdates);
  const double limit = PlainUpdates(weights);
  SumTree tree(RandomWeights(kLeaves));
  Rng rng(2);
  std::vector<uint32_t> leaves;
  return Milliseconds(TimePerCall([&] { leaves = RandomLeaves(&rng); }, [&] { tree.SetBatch(leaves, weights); }), limit,
                      kPlainTree);
}

Result SumTreeSet() {
  const std::vector<double> weights = RandomWeights(kUpdates);
  const double limit = PlainUpdates(weights);
  SumTree tree(RandomWeights(kLeaves));
  Rng rng(2);
  std::vector<uint32_t> leaves;
  return Milliseconds(TimePerCall([&] { leaves = RandomLeaves(&rng); },
                                  [&] {
                                    for (size_t i = 0; i < kUpdates; ++i) {
                                      tree.Set(leaves[i], weights[i]);
                                    }
                                  }),
                      limit, kPlainTree);
}

// A workload: the rows' shape, and their blocks.
struct Workload {
  TableConfig table;
  uint32_t lanes = 0;
  uint32_t rows = 0;    // In a chunk.
  uint32_t window = 0;  // In an item.
  int64_t batch_size = 0;
  int64_t items = 0;  // In the table when it is sampled.
};

TableConfig BaseTable() {
  TableConfig table;
  table.name = "bench";
  table.sampler.kind = SelectorKind::kPrioritized;
  table.sampler.priority_exponent = 0.6;
  table.max_bytes = int64_t{1} << 40;
  return table;
}

// Ape-X DQN's three-step transitions for CartPole.
Workload CartPole() {
  Workload workload;
  workload.table = BaseTable();
  workload.table.signature = {{"observation", DType::kFloat32, {4}},
                              {"action", DType::kInt64, {}},
                              {"reward", DType::kFloat32, {}},
                              {"discount", DType::kFloat32, {}},
                              {"step_type", DType::kInt32, {}}};
  workload.table.view = {{"observation", "observation", ViewField::Rows::kFirst},
                         {"action", "action", ViewField::Rows::kFirst},
                         {"reward", "reward", ViewField::Rows::kAll},
                         {"discount", "discount", ViewField::Rows::kAll},
                         {"next_observation", "observation", ViewField::Rows::kLast}};
  workload.table.max_items = 1'000'000;
  workload.table.max_window = 4;
  workload.lanes = 32;
  workload.rows = 16;
  workload.window = 4;
  workload.batch_size = 512;
  workload.items = 1'000'000;
  return workload;
}

// Transitions for goals in hindsight, from episodes of 50 steps: an item has the 50 rows after its first.
Workload Hindsight() {
  Workload workload = CartPole();
  workload.table.view.push_back({"goal", "observation", ViewField::Rows::kFuture});
  workload.table.max_window = 51;
  workload.table.transition_rows = 4;
  workload.window = 51;
  return workload;
}

// Items of 40 kB that share no rows.
Workload Large() {
  Workload workload;
  workload.table = BaseTable();
  workload.table.signature = {{"data", DType::kUint8, {40'000}}};
  workload.table.view = {{"data", "data", ViewField::Rows::kFirst}};
  workload.table.max_items = 10'000;
  workload.table.max_window = 1;
  workload.lanes = 1;
  workload.rows = 32;
  workload.window = 1;
  workload.batch_size = 256;
  workload.items = 10'000;
  return workload;
}

int64_t RowBytes(const Workload& workload) {
  int64_t bytes = 0;
  for (const ArraySpec& column : workload.table.signature) {
    bytes += column.NumBytes();
  }
  return bytes;
}

// A store with the workload's table, and a writer that fills it block by block.
class Bed {
 public:
  explicit Bed(const Workload& workload)
      : workload_(workload),
        store_(std::make_shared<ReplayStore>(ReplayStoreOptions())),
        connection_(store_),
        bytes_(static_cast<size_t>(RowBytes(workload) * workload.lanes * workload.rows)),
        data_(AllocateBytes(bytes_)) {
    std::memset(data_.get(), 0x3c, bytes_);  // Finite in every floating-point type.
    Must(connection_.CreateTable(workload.table, StopToken()));
    ReplayWriterOptions options;
    options.writer_id = "bench";
    options.tables = {workload.table.name};
    options.signature = workload.table.signature;
    writer_ = Must(connection_.NewWriter(options));
    table_ = Must(store_->FindTable(workload.table.name));
  }

  int64_t ItemsPerBlock() const { return int64_t{workload_.lanes} * workload_.rows; }

  void InsertBlockOfRows() {
    InsertBlock block;
    block.data.Append({data_.get(), bytes_, data_});
    block.chunks.reserve(workload_.lanes);
    block.items.reserve(static_cast<size_t>(ItemsPerBlock()));
    for (uint32_t lane = 0; lane < workload_.lanes; ++lane) {
      block.chunks.push_back({lane, next_row_, workload_.rows});
      for (uint64_t row = next_row_; row < next_row_ + workload_.rows; ++row) {
        // One item per row: the window that ends with it, if it is long enough for the table.
        const uint64_t first = row + 1 >= workload_.window ? row + 1 - workload_.window : 0;
        const auto rows = static_cast<uint32_t>(row + 1 - first);
        if (rows >= min_window_) {
          block.items.push_back({0, lane, first, rows, 0.1 + rng_.Uniform()});
        }
      }
    }
    next_row_ += workload_.rows;
    Must(writer_->Append(std::move(block), StopToken()));
  }

  void Fill() {
    for (int64_t items = 0; items < workload_.items; items += ItemsPerBlock()) {
      InsertBlockOfRows();
    }
  }

  std::shared_ptr<const BatchLayout> Layout() const {
    return std::make_shared<const BatchLayout>(
        Must(MakeBatchLayout(workload_.table, workload_.batch_size, size_t{1} << 40)));
  }
  SampledBatch Sample(const std::shared_ptr<const BatchLayout>& layout) {
    SampledBatch sampled;
    table_->Sample(layout, workload_.batch_size,
                   [&sampled](absl::StatusOr<SampledBatch> batch) { sampled = Must(std::move(batch)); });
    return sampled;
  }
  Table& table() { return *table_; }

 private:
  const Workload workload_;
  const int64_t min_window_ = workload_.table.MinWindow();
  const std::shared_ptr<ReplayStore> store_;
  LocalReplayConnection connection_;
  const size_t bytes_;
  const std::shared_ptr<char> data_;
  std::unique_ptr<ReplayWriter> writer_;
  std::shared_ptr<Table> table_;
  uint64_t next_row_ = 0;
  Rng rng_{5};
};

// Beside a memory copy of the rows that an insert stores: one row per item.
Result Insert(const Workload& workload) {
  Bed bed(workload);
  bed.Fill();  // From here on each new item makes another one leave.
  const double limit = MemcpyBytesPerSecond(size_t{64} << 20) / static_cast<double>(RowBytes(workload));
  return Rate(TimePerCall([&] { bed.InsertBlockOfRows(); }), static_cast<double>(bed.ItemsPerBlock()), "items/s", limit,
              "memcpy of the rows");
}

// Beside a memory copy of a batch's bytes.
Result Sample(const Workload& workload) {
  Bed bed(workload);
  bed.Fill();
  const auto layout = bed.Layout();
  const double item_bytes = static_cast<double>(layout->total_bytes) / static_cast<double>(workload.batch_size);
  const double limit = MemcpyBytesPerSecond(size_t{64} << 20) / item_bytes;
  return Rate(TimePerCall([&] { bed.Sample(layout); }), static_cast<double>(workload.batch_size), "items/s", limit,
              "memcpy of the batch");
}

Result UpdatePriorities() {
  const Workload workload = CartPole();
  Bed bed(workload);
  bed.Fill();
  const auto layout = bed.Layout();
  std::vector<SampledBatch> batches;
  for (int i = 0; i < 64; ++i) {
    batches.push_back(bed.Sample(layout));
  }
  const auto count = static_cast<size_t>(workload.batch_size);
  std::vector<double> priorities(count);
  Rng rng(4);
  size_t next = 0;
  // One priority of a million after the other, in a table that has nothing else.
  std::vector<double> alone(static_cast<size_t>(2 * workload.items));
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
  const Workload workload = CartPole();
  Bed bed(workload);
  bed.Fill();
  Result result;
  result.value = (ResidentBytes() - before) / static_cast<double>(bed.table().info().items);
  result.median = result.value;
  result.unit = "bytes/item";
  result.limit = 2 * 52;
  result.limit_name = "twice a transition's 52 bytes";
  result.less_is_better = true;
  return result;
}

int Run(int argc, char** argv) {
  return RunCases(argc, argv,
                  {
                      {"replay/memory_cartpole", Memory},  // First, while the heap is fresh.
                      {"replay/sum_tree_build_10M", SumTreeBuild},
                      {"replay/sum_tree_find_10M", SumTreeFind},
                      {"replay/sum_tree_find_stratified_10M", SumTreeFindStratified},
                      {"replay/sum_tree_set_batch_1M", SumTreeSetBatch},
                      {"replay/sum_tree_set_1M", SumTreeSet},
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
