#include "tests/support/conformance/replay_conformance.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/deadline.h"
#include "common/base/reason.h"
#include "common/base/threads/thread.h"
#include "tests/support/catch.h"
#include "tests/support/chi_square.h"
#include "tests/support/id_rows.h"

namespace waggle::testing {
namespace {

// Long enough for any machine; only a bug waits so long.
constexpr absl::Duration kLong = absl::Seconds(30);

// Rows identify themselves: "id" is stream * 1000 + row and "pair" is (id, -id). A connection's servers hold equal
// parts of the limits.
TableConfig Table(SelectorKind sampler, int64_t max_times_sampled, int64_t servers) {
  TableConfig config;
  config.name = "replay";
  config.signature = {{"id", DType::kInt64, {}}, {"pair", DType::kFloat32, {2}}};
  config.view = {{"id", "id", ViewField::Rows::kFirst},
                 {"next_pair", "pair", ViewField::Rows::kLast},
                 {"ids", "id", ViewField::Rows::kAll}};
  config.sampler.kind = sampler;
  config.sampler.priority_exponent = 1;
  config.max_items = 1000 * servers;
  config.max_bytes = (int64_t{1} << 20) * servers;
  config.max_times_sampled = max_times_sampled;
  config.max_window = 4;
  return config;
}

// Gives every item once, in order.
TableConfig Queue(int64_t servers) {
  return Table(SelectorKind::kFifo, 1, servers);
}

TableConfig Prioritized(int64_t servers) {
  return Table(SelectorKind::kPrioritized, 0, servers);
}

InsertBlock MakeBlock(const std::vector<ChunkInfo>& chunks, std::vector<ItemInfo> items) {
  InsertBlock block;
  block.data = IdRows(chunks);
  block.chunks = chunks;
  block.items = std::move(items);
  block.policy_version = 12;
  return block;
}

// `count` items of one row each, from row `first` of stream 0 on.
InsertBlock SingleRows(uint64_t first, uint32_t count, double priority = 1) {
  std::vector<ItemInfo> items;
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back({0, 0, first + i, 1, priority});
  }
  return MakeBlock({{0, first, count}}, items);
}

// The error of inserting a block: the writer's own, Append's or Flush's, as a port may find out at any of them.
absl::Status InsertBy(const absl::StatusOr<std::unique_ptr<ReplayWriter>>& writer, InsertBlock block) {
  absl::Status status = writer.status();
  status = status.ok() ? (*writer)->Append(std::move(block), StopToken()) : status;
  return status.ok() ? (*writer)->Flush(kLong) : status;
}

// A connection with one table, one writer, one sampler and one updater.
struct Client {
  Client(const NewReplay& new_replay, const TableConfig& table, int64_t batch_size, int64_t max_blocks = 64)
      : connection(new_replay()) {
    REQUIRE_OK(connection->CreateTable(table, stop));
    writer_options.writer_id = "writer";
    writer_options.tables = {table.name};
    writer_options.signature = table.signature;
    writer_options.max_unacknowledged_blocks = max_blocks;
    sampler_options.table = table;
    sampler_options.batch_size = batch_size;
    sampler_options.prefetch = 1;
    writer = ValueOf(connection->NewWriter(writer_options));
    sampler = ValueOf(connection->NewSampler(sampler_options));
    updater = ValueOf(connection->NewPriorityUpdater(table.name));
  }

  void Insert(InsertBlock block) {
    REQUIRE_OK(writer->Append(std::move(block), stop));
    REQUIRE_OK(writer->Flush(kLong));
  }
  SampledBatch Sample() { return ValueOf(sampler->Next(stop)); }

  StopToken stop;
  std::shared_ptr<ReplayConnection> connection;
  ReplayWriterOptions writer_options;
  ReplaySamplerOptions sampler_options;
  std::unique_ptr<ReplayWriter> writer;
  std::unique_ptr<ReplaySampler> sampler;
  std::unique_ptr<PriorityUpdater> updater;
};

template <class T>
std::vector<T> Values(const SampledBatch& batch, absl::string_view field) {
  const BatchField* found = ValueOf(batch.layout->Find(field));
  REQUIRE(found->spec.dtype == DTypeOf<T>());
  const T* values = static_cast<const T*>(batch.Data(field));
  return std::vector<T>(values, values + found->spec.NumElements());
}

std::vector<uint64_t> Unsigned(const SampledBatch& batch, absl::string_view field) {
  const std::vector<int64_t> values = Values<int64_t>(batch, field);
  return std::vector<uint64_t>(values.begin(), values.end());
}

// An item's facts in a batch.
struct Given {
  std::vector<int64_t> ids;
  float last = 0;
  int64_t length = 0;
  double priority = 0;

  friend bool operator==(const Given& a, const Given& b) {
    return a.ids == b.ids && a.last == b.last && a.length == b.length && a.priority == b.priority;
  }
};

// Takes the items of a batch, by their first rows' ids.
void Take(const SampledBatch& batch, std::vector<int64_t>* order, std::map<int64_t, Given>* given) {
  const std::vector<int64_t> first = Values<int64_t>(batch, "id");
  const std::vector<int64_t> ids = Values<int64_t>(batch, "ids");
  const std::vector<float> last = Values<float>(batch, "next_pair");
  for (size_t i = 0; i < first.size(); ++i) {
    order->push_back(first[i]);
    REQUIRE(last[2 * i] == -last[2 * i + 1]);
    const Given item = {{ids.begin() + static_cast<int64_t>(4 * i), ids.begin() + static_cast<int64_t>(4 * i + 4)},
                        last[2 * i],
                        Values<int64_t>(batch, kItemLength)[i],
                        Values<double>(batch, kItemPriority)[i]};
    REQUIRE(given->emplace(first[i], item).second);
    REQUIRE(Values<int64_t>(batch, kItemPolicyVersion)[i] == 12);
    REQUIRE(Values<int64_t>(batch, kItemTimesSampled)[i] == 1);
  }
}

void CheckRoundTrip(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Queue(servers), 3);
  // Three-row windows: one within a chunk, one over two chunks, one over two blocks, and shorter ones.
  client.Insert(MakeBlock({{2, 0, 3}, {2, 3, 1}, {7, 0, 2}}, {{0, 2, 0, 3, 1}, {0, 2, 1, 3, 1.5}, {0, 7, 0, 2, 1}}));
  client.Insert(MakeBlock({{2, 4, 2}}, {{0, 2, 2, 3, 1}, {0, 2, 3, 3, 1}, {0, 2, 5, 1, 1}}));
  // Each of several servers gives its items in order.
  std::vector<int64_t> order;
  std::map<int64_t, Given> given;
  for (int i = 0; i < 2; ++i) {
    Take(client.Sample(), &order, &given);
  }
  const std::map<int64_t, Given> wanted = {
      {2000, {{2000, 2001, 2002, 0}, 2002, 3, 1}}, {2001, {{2001, 2002, 2003, 0}, 2003, 3, 1.5}},
      {7000, {{7000, 7001, 0, 0}, 7001, 2, 1}},    {2002, {{2002, 2003, 2004, 0}, 2004, 3, 1}},
      {2003, {{2003, 2004, 2005, 0}, 2005, 3, 1}}, {2005, {{2005, 0, 0, 0}, 2005, 1, 1}}};
  REQUIRE(given == wanted);
  if (servers == 1) {
    REQUIRE(order == std::vector<int64_t>{2000, 2001, 7000, 2002, 2003, 2005});
  }
  REQUIRE(client.writer->stats().items_inserted == 6);
  REQUIRE(client.writer->stats().items_without_rows == 0);
  REQUIRE(client.sampler->stats().batches == 2);
}

void CheckPriorityUpdates(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Prioritized(servers), 200);
  client.Insert(SingleRows(0, 20));
  const SampledBatch batch = client.Sample();
  REQUIRE(batch.table_items == 20);
  REQUIRE(batch.priority_sum == 20);
  REQUIRE(batch.min_probability <= 0.05);
  REQUIRE(batch.min_probability > 0.04);
  // Each item's new priority follows from its row, so that a priority at a wrong item is found.
  const std::vector<int64_t> ids = Values<int64_t>(batch, "id");
  std::vector<double> priorities;
  std::map<int64_t, double> wanted;
  for (int64_t id = 0; id < 20; ++id) {
    wanted[id] = 1;
  }
  for (const int64_t id : ids) {
    priorities.push_back(static_cast<double>(id) + 0.25);
    wanted[id] = priorities.back();
  }
  REQUIRE_OK(client.updater->Update(Unsigned(batch, kItemKey), Unsigned(batch, kItemGeneration), priorities));
  REQUIRE_OK(client.updater->Flush(kLong));
  REQUIRE(client.updater->counts().applied == 200);
  client.Sample();  // May have been drawn before the update.
  double sum = 0;
  for (const auto& [id, priority] : wanted) {
    sum += priority;
  }
  const SampledBatch after = client.Sample();
  const std::vector<int64_t> ids_after = Values<int64_t>(after, "id");
  const std::vector<double> priorities_after = Values<double>(after, kItemPriority);
  const std::vector<double> probabilities = Values<double>(after, kItemProbability);
  for (size_t i = 0; i < ids_after.size(); ++i) {
    REQUIRE(priorities_after[i] == wanted[ids_after[i]]);
    REQUIRE(probabilities[i] == Approx(wanted[ids_after[i]] / sum));
  }
}

void CheckStaleAndUnknownUpdates(const NewReplay& new_replay, int64_t servers) {
  TableConfig table = Prioritized(servers);
  table.max_items = 4 * servers;
  Client client(new_replay, table, 8);
  client.Insert(SingleRows(0, 4));
  const SampledBatch batch = client.Sample();
  const std::vector<uint64_t> keys = Unsigned(batch, kItemKey);
  const std::vector<uint64_t> generations = Unsigned(batch, kItemGeneration);
  client.Insert(SingleRows(4, 4));  // Every slot holds another item now.
  REQUIRE_OK(client.updater->Update(keys, generations, std::vector<double>(8, 50)));
  REQUIRE_OK(client.updater->Update({keys[0], 1 << 20}, {generations[0], generations[0]}, {50, 50}));
  REQUIRE_OK(client.updater->Flush(kLong));
  REQUIRE(client.updater->counts().applied == 0);
  REQUIRE(client.updater->counts().stale == 9);
  REQUIRE(client.updater->counts().unknown == 1);
  client.Sample();
  REQUIRE(client.Sample().priority_sum == 4);
}

void CheckBadPriorityUpdates(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Prioritized(servers), 2);
  client.Insert(SingleRows(0, 4));
  const SampledBatch batch = client.Sample();
  const std::vector<uint64_t> keys = Unsigned(batch, kItemKey);
  const std::vector<uint64_t> generations = Unsigned(batch, kItemGeneration);
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    REQUIRE_CODE(client.updater->Update(keys, generations, {3, bad}), absl::StatusCode::kInvalidArgument);
  }
  REQUIRE_CODE(client.updater->Update(keys, {generations[0]}, {3, 3}), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(client.updater->Flush(kLong));
  REQUIRE(client.updater->counts().applied == 0);
  client.Sample();
  REQUIRE(client.Sample().priority_sum == 4);
}

// A refused block, and the reason.
struct BadBlock {
  const char* name;
  InsertBlock block;
  const char* reason;
};

std::vector<BadBlock> BadBlocks() {
  std::vector<BadBlock> blocks = {
      {"an item with a negative priority is refused", SingleRows(2, 1, -1), "bad_priority"},
      {"an item with a priority that is not a number is refused", SingleRows(2, 1, std::nan("")), "bad_priority"},
      {"an observation that is not finite is refused", SingleRows(2, 2), "not_finite"},
      {"a block whose bytes do not fit its rows is refused", SingleRows(2, 1), "bad_chunk"},
      {"rows out of order are refused", SingleRows(5, 1), "bad_chunk"},
      {"a window longer than the table allows is refused", MakeBlock({{0, 2, 5}}, {{0, 0, 2, 5, 1}}), "bad_window"},
  };
  const std::shared_ptr<char> bytes = AllocateBytes(32);
  blocks[2].block.data.CopyTo(bytes.get());
  const float bad = std::nanf("");
  std::memcpy(bytes.get() + 16 + 8 + 4, &bad, sizeof(bad));
  blocks[2].block.data = ByteSlices(ByteSlice{bytes.get(), 32, bytes});
  blocks[3].block.data = SingleRows(2, 2).data;
  return blocks;
}

void CheckBadBlock(const NewReplay& new_replay, int64_t servers, const BadBlock& bad) {
  Client client(new_replay, Prioritized(servers), 1);
  client.Insert(SingleRows(0, 2));
  absl::Status status = client.writer->Append(bad.block, client.stop);
  status = status.ok() ? client.writer->Flush(kLong) : status;
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(ReasonOf(status) == bad.reason);
  // The error is final for this writer. The table and other writers continue.
  status = client.writer->Append(SingleRows(2, 1), client.stop);
  REQUIRE_CODE(status.ok() ? client.writer->Flush(kLong) : status, absl::StatusCode::kInvalidArgument);
  REQUIRE(client.Sample().table_items == 2);
  client.writer_options.writer_id = "another";
  REQUIRE_OK(InsertBy(client.connection->NewWriter(client.writer_options), SingleRows(0, 1)));
  client.Sample();
  REQUIRE(client.Sample().table_items == 3);
}

void CheckNames(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Prioritized(servers), 1);
  REQUIRE_OK(client.connection->CreateTable(Prioritized(servers), client.stop));
  TableConfig differs = Prioritized(servers);
  differs.max_items = 17;
  const absl::Status status = client.connection->CreateTable(differs, client.stop);
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(status.message(), "max_items"));
  TableConfig wrong = Prioritized(servers);
  wrong.name = "wrong";
  wrong.max_window = 0;
  REQUIRE_CODE(client.connection->CreateTable(wrong, client.stop), absl::StatusCode::kInvalidArgument);

  // A port may find out when it is made or when it is used.
  ReplayWriterOptions writer_options = client.writer_options;
  writer_options.writer_id = "lost";
  writer_options.tables = {"nowhere"};
  REQUIRE_CODE(InsertBy(client.connection->NewWriter(writer_options), SingleRows(0, 1)), absl::StatusCode::kNotFound);

  ReplaySamplerOptions sampler_options = client.sampler_options;
  sampler_options.table.name = "nowhere";
  auto sampler = client.connection->NewSampler(sampler_options);
  REQUIRE_CODE(sampler.ok() ? (*sampler)->Next(client.stop).status() : sampler.status(), absl::StatusCode::kNotFound);

  auto updater = client.connection->NewPriorityUpdater("nowhere");
  absl::Status lost = updater.status();
  if (updater.ok()) {
    lost = (*updater)->Update({1}, {1}, {1});
    lost = lost.ok() ? (*updater)->Flush(kLong) : lost;
  }
  REQUIRE_CODE(lost, absl::StatusCode::kNotFound);
}

void CheckWrongSignature(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Prioritized(servers), 1);
  ReplayWriterOptions options = client.writer_options;
  options.writer_id = "other";
  options.signature[1].shape = {3};
  REQUIRE_CODE(InsertBy(client.connection->NewWriter(options), SingleRows(0, 1)),
               absl::StatusCode::kFailedPrecondition);
}

TableConfig Limited(int64_t servers) {
  TableConfig table = Queue(servers);
  table.rate_limiter.samples_per_insert = 1;
  table.rate_limiter.min_items = 2 * servers;
  table.rate_limiter.error_buffer = 2 * static_cast<double>(servers);
  return table;
}

void CheckLimiter(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Limited(servers), 1, 1);
  // Four items have room; the rest of the second block waits, and the third Append behind it.
  client.Insert(SingleRows(0, 3));
  REQUIRE_OK(client.writer->Append(SingleRows(3, 3), client.stop));
  REQUIRE_CODE(client.writer->Flush(absl::Milliseconds(1)), absl::StatusCode::kDeadlineExceeded);
  absl::Status appended = absl::UnknownError("not yet");
  absl::Status flushed = appended;
  std::vector<int64_t> ids;
  {
    const Thread inserter("inserter", [&] {
      appended = client.writer->Append(SingleRows(6, 3), client.stop);
      flushed = client.writer->Flush(kLong);
    });
    for (int i = 0; i < 7; ++i) {
      const absl::StatusOr<SampledBatch> batch = client.sampler->Next(client.stop);
      ids.push_back(batch.ok() ? *static_cast<const int64_t*>(batch->Data("id")) : -1);
    }
  }
  REQUIRE_OK(appended);
  REQUIRE_OK(flushed);
  REQUIRE(ids == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6});
}

void CheckSamplerWaits(const NewReplay& new_replay, int64_t servers) {
  TableConfig table = Queue(servers);
  table.rate_limiter.min_items = 3;
  Client client(new_replay, table, 2);
  absl::StatusOr<SampledBatch> batch = absl::UnknownError("not yet");
  {
    const Thread sampler("sampler", [&] { batch = client.sampler->Next(client.stop); });
    for (uint64_t row = 0; row < 3; ++row) {
      client.Insert(SingleRows(row, 1));
    }
  }
  REQUIRE_OK(batch);
  REQUIRE(batch->table_items == 3);
  REQUIRE(Values<int64_t>(*batch, "id") == std::vector<int64_t>{0, 1});
}

// True if the stats of `port` show its wait, and the time waited, while it waits.
template <class Port>
bool SaysThatItWaits(const Port& port) {
  const Deadline deadline(kLong);
  while (!port.stats().waiting && deadline.Left() > absl::ZeroDuration()) {
    std::this_thread::yield();
  }
  const absl::Duration before = port.stats().waited;
  while (port.stats().waited <= before && deadline.Left() > absl::ZeroDuration()) {
    std::this_thread::yield();
  }
  return deadline.Left() > absl::ZeroDuration();
}

void CheckStop(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Limited(servers), 1, 1);
  const StopToken stop_sampler;
  absl::Status sampled;
  {
    const Thread sampler("sampler", [&] { sampled = client.sampler->Next(stop_sampler).status(); });
    CHECK(SaysThatItWaits(*client.sampler));
    stop_sampler.RequestStop();
  }
  REQUIRE_CODE(sampled, absl::StatusCode::kCancelled);
  REQUIRE_OK(client.writer->Append(SingleRows(0, 9), client.stop));
  uint64_t row = 9;
  for (; row < 8 + static_cast<uint64_t>(servers); ++row) {  // One for each server.
    REQUIRE_OK(client.writer->Append(SingleRows(row, 1), client.stop));
  }
  const StopToken stop_writer;
  absl::Status appended;
  {
    const Thread writer("writer", [&] { appended = client.writer->Append(SingleRows(row, 1), stop_writer); });
    CHECK(SaysThatItWaits(*client.writer));
    stop_writer.RequestStop();
  }
  REQUIRE_CODE(appended, absl::StatusCode::kCancelled);
  CHECK_FALSE(client.writer->stats().waiting);
  CHECK_FALSE(client.sampler->stats().waiting);
}

void CheckStopTakesWhatIsThere(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Queue(servers), 1);
  const StopToken stopped;
  stopped.RequestStop();
  REQUIRE_OK(client.writer->Append(SingleRows(0, 2), stopped));
  REQUIRE_OK(client.writer->Flush(kLong));
  // A port that prefetches may not have the batch at once.
  const Deadline deadline(kLong);
  absl::StatusOr<SampledBatch> batch = client.sampler->Next(stopped);
  while (absl::IsCancelled(batch.status()) && deadline.Left() > absl::ZeroDuration()) {
    batch = client.sampler->Next(stopped);
  }
  REQUIRE_OK(batch);
  REQUIRE(Values<int64_t>(*batch, "id") == std::vector<int64_t>{0});
}

void CheckSecondWriter(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Limited(servers), 1);
  REQUIRE_OK(client.writer->Append(SingleRows(0, 9), client.stop));
  client.Sample();  // The block has arrived, and most of it waits for room.
  REQUIRE_CODE(InsertBy(client.connection->NewWriter(client.writer_options), SingleRows(0, 1)),
               absl::StatusCode::kFailedPrecondition);
  for (int i = 1; i < 7; ++i) {
    client.Sample();
  }
  REQUIRE_OK(client.writer->Flush(kLong));
  REQUIRE(client.writer->stats().items_inserted == 9);
}

void CheckImpossibleBatch(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Limited(servers), 4);
  client.Insert(SingleRows(0, 3));
  REQUIRE_CODE(client.sampler->Next(client.stop), absl::StatusCode::kFailedPrecondition);
}

void CheckTimesSampled(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Table(SelectorKind::kUniform, 3, servers), 5);
  client.Insert(SingleRows(0, 10));
  std::map<int64_t, int> drawn;
  for (int i = 0; i < 6; ++i) {
    for (const int64_t id : Values<int64_t>(client.Sample(), "id")) {
      ++drawn[id];
    }
  }
  REQUIRE(drawn.size() == 10);
  for (const auto& [id, times] : drawn) {
    REQUIRE(times == 3);
  }
}

void CheckFrequencies(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Prioritized(servers), 100);
  std::vector<ChunkInfo> chunks;
  std::vector<ItemInfo> items;
  std::map<int64_t, double> weights;
  for (uint32_t i = 0; i < 40; ++i) {
    chunks.push_back({i, 0, 1});
    items.push_back({0, i, 0, 1, static_cast<double>(i)});
    if (i > 0) {
      weights[i] = i;
    }
  }
  client.Insert(MakeBlock(chunks, items));
  std::map<int64_t, int64_t> drawn;
  for (int i = 0; i < 200; ++i) {
    for (const int64_t id : Values<int64_t>(client.Sample(), "id")) {
      ++drawn[id / 1000];
    }
  }
  CheckChiSquare(drawn, weights);
}

}  // namespace

void CheckSamplerAsksInTime(const NewReplay& new_replay, int64_t servers) {
  Client client(new_replay, Queue(servers), 2);
  client.sampler.reset();
  client.sampler_options.prefetch = 0;
  const auto first = ValueOf(client.connection->NewSampler(client.sampler_options));
  const auto second = ValueOf(client.connection->NewSampler(client.sampler_options));
  client.Insert(SingleRows(0, 8));
  const auto ids = [&client](ReplaySampler* sampler) {
    return Values<int64_t>(ValueOf(sampler->Next(client.stop)), "id");
  };
  // Items that one sampler had prefetched would be missing in the other.
  REQUIRE(ids(first.get()) == std::vector<int64_t>{0, 1});
  REQUIRE(ids(second.get()) == std::vector<int64_t>{2, 3});
  REQUIRE(ids(second.get()) == std::vector<int64_t>{4, 5});
  REQUIRE(ids(first.get()) == std::vector<int64_t>{6, 7});
}

void CheckReplayConformance(const NewReplay& new_replay, int64_t servers) {
  using Check = void (*)(const NewReplay&, int64_t);
  for (const auto& [name, check] : std::initializer_list<std::pair<const char*, Check>>{
           {"inserted items are sampled, windows over chunks and blocks included", CheckRoundTrip},
           {"priorities arrive at their own items", CheckPriorityUpdates},
           {"updates for items that have left are counted as stale or unknown", CheckStaleAndUnknownUpdates},
           {"an update with a bad priority is refused as a whole", CheckBadPriorityUpdates},
           {"tables are found by name, and differences are reported", CheckNames},
           {"a writer with other columns is refused", CheckWrongSignature},
           {"the limiter holds inserts until samples make room", CheckLimiter},
           {"the limiter holds samples until there are enough items", CheckSamplerWaits},
           {"a stop ends calls that wait", CheckStop},
           {"a stop ends waits, and calls that need not wait succeed", CheckStopTakesWhatIsThere},
           {"a second writer of the same id is refused while the first one's block waits", CheckSecondWriter},
           {"a batch that could never be sampled is refused", CheckImpossibleBatch},
           {"no item is sampled more often than allowed", CheckTimesSampled},
           {"items are sampled as often as their priorities say", CheckFrequencies}}) {
    DYNAMIC_SECTION(name) {
      check(new_replay, servers);
    }
  }
  for (const BadBlock& bad : BadBlocks()) {
    DYNAMIC_SECTION(bad.name) {
      CheckBadBlock(new_replay, servers, bad);
    }
  }
}

}  // namespace waggle::testing
