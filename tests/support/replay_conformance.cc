#include "tests/support/replay_conformance.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/thread.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// Long enough for any machine; nothing waits so long unless it is broken.
constexpr absl::Duration kLong = absl::Seconds(30);

// Rows say which they are: "id" is stream * 1000 + row and "pair" is (id, -id).
TableConfig Table(SamplerConfig::Kind sampler, int64_t max_times_sampled) {
  TableConfig config;
  config.name = "replay";
  config.signature = {{"id", DType::kInt64, {}}, {"pair", DType::kFloat32, {2}}};
  config.view = {{"id", "id", ViewField::Rows::kFirst},
                 {"next_pair", "pair", ViewField::Rows::kLast},
                 {"ids", "id", ViewField::Rows::kAll}};
  config.sampler.kind = sampler;
  config.sampler.priority_exponent = 1;
  config.max_items = 1000;
  config.max_bytes = int64_t{1} << 20;
  config.max_times_sampled = max_times_sampled;
  config.max_window = 4;
  return config;
}

// Gives every item once, in order.
TableConfig Queue() {
  return Table(SamplerConfig::Kind::kFifo, 1);
}

TableConfig Prioritized() {
  return Table(SamplerConfig::Kind::kPrioritized, 0);
}

InsertBlock MakeBlock(std::vector<ChunkInfo> chunks, std::vector<ItemInfo> items) {
  std::vector<int64_t> ids;
  for (const ChunkInfo& chunk : chunks) {
    for (uint64_t row = 0; row < chunk.rows; ++row) {
      ids.push_back(static_cast<int64_t>(chunk.stream * 1000 + chunk.first_row + row));
    }
  }
  const size_t id_bytes = ids.size() * sizeof(int64_t);
  const std::shared_ptr<char> bytes = AllocateBytes(2 * id_bytes);
  std::memcpy(bytes.get(), ids.data(), id_bytes);
  for (size_t i = 0; i < ids.size(); ++i) {
    const float pair[] = {static_cast<float>(ids[i]), -static_cast<float>(ids[i])};
    std::memcpy(bytes.get() + id_bytes + i * sizeof(pair), pair, sizeof(pair));
  }
  InsertBlock block;
  block.chunks = std::move(chunks);
  block.items = std::move(items);
  block.policy_version = 12;
  block.data.Append({bytes.get(), 2 * id_bytes, bytes});
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
  // The error of a block that is refused: by Append where the form knows at once, else by Flush.
  absl::Status InsertBad(InsertBlock block) {
    const absl::Status appended = writer->Append(std::move(block), stop);
    return appended.ok() ? writer->Flush(kLong) : appended;
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

void CheckRoundTrip(const NewReplay& new_replay) {
  Client client(new_replay, Queue(), 3);
  // Three-row windows: one within a chunk, one over two chunks, one over two blocks, and shorter ones.
  client.Insert(MakeBlock({{2, 0, 3}, {2, 3, 1}, {7, 0, 2}}, {{0, 2, 0, 3, 1}, {0, 2, 1, 3, 1.5}, {0, 7, 0, 2, 1}}));
  client.Insert(MakeBlock({{2, 4, 2}}, {{0, 2, 2, 3, 1}, {0, 2, 3, 3, 1}, {0, 2, 5, 1, 1}}));
  const SampledBatch first = client.Sample();
  REQUIRE(Values<int64_t>(first, "id") == std::vector<int64_t>{2000, 2001, 7000});
  REQUIRE(Values<int64_t>(first, "ids") ==
          std::vector<int64_t>{2000, 2001, 2002, 0, 2001, 2002, 2003, 0, 7000, 7001, 0, 0});
  REQUIRE(Values<float>(first, "next_pair") == std::vector<float>{2002, -2002, 2003, -2003, 7001, -7001});
  REQUIRE(Values<int64_t>(first, kItemLength) == std::vector<int64_t>{3, 3, 2});
  REQUIRE(Values<double>(first, kItemPriority) == std::vector<double>{1, 1.5, 1});
  REQUIRE(Values<int64_t>(first, kItemPolicyVersion) == std::vector<int64_t>{12, 12, 12});
  REQUIRE(Values<int64_t>(first, kItemTimesSampled) == std::vector<int64_t>{1, 1, 1});
  const SampledBatch second = client.Sample();
  REQUIRE(Values<int64_t>(second, "ids") ==
          std::vector<int64_t>{2002, 2003, 2004, 0, 2003, 2004, 2005, 0, 2005, 0, 0, 0});
  REQUIRE(Values<int64_t>(second, kItemLength) == std::vector<int64_t>{3, 3, 1});
  REQUIRE(client.writer->stats().items_inserted == 6);
  REQUIRE(client.writer->stats().items_without_rows == 0);
  REQUIRE(client.sampler->stats().batches == 2);
}

void CheckPriorityUpdates(const NewReplay& new_replay) {
  Client client(new_replay, Prioritized(), 200);
  client.Insert(SingleRows(0, 20));
  const SampledBatch batch = client.Sample();
  REQUIRE(batch.table_items == 20);
  REQUIRE(batch.priority_sum == 20);
  REQUIRE(batch.min_probability <= 0.05);
  REQUIRE(batch.min_probability > 0.04);
  // Each item's new priority follows from its row, so that one that arrived at another item would show.
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

void CheckStaleAndUnknownUpdates(const NewReplay& new_replay) {
  TableConfig table = Prioritized();
  table.max_items = 4;
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

void CheckBadPriorityUpdates(const NewReplay& new_replay) {
  Client client(new_replay, Prioritized(), 2);
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

void CheckBadBlocks(const NewReplay& new_replay, InsertBlock block, const std::string& why) {
  Client client(new_replay, Prioritized(), 1);
  client.Insert(SingleRows(0, 2));
  const absl::Status status = client.InsertBad(std::move(block));
  CAPTURE(status, why);
  REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(absl::StrContains(status.message(), why));
  // Final for this writer; the table and others go on with what there was.
  REQUIRE(client.InsertBad(SingleRows(2, 1)).code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(client.Sample().table_items == 2);
  ReplayWriterOptions options = client.writer_options;
  options.writer_id = "another";
  const std::unique_ptr<ReplayWriter> another = ValueOf(client.connection->NewWriter(options));
  REQUIRE_OK(another->Append(SingleRows(0, 1), client.stop));
  REQUIRE_OK(another->Flush(kLong));
  client.Sample();
  REQUIRE(client.Sample().table_items == 3);
}

void CheckNames(const NewReplay& new_replay) {
  Client client(new_replay, Prioritized(), 1);
  REQUIRE_OK(client.connection->CreateTable(Prioritized(), client.stop));
  TableConfig differs = Prioritized();
  differs.max_items = 17;
  const absl::Status status = client.connection->CreateTable(differs, client.stop);
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(status.message(), "max_items: 1000 and 17"));
  TableConfig wrong = Prioritized();
  wrong.name = "wrong";
  wrong.max_window = 0;
  REQUIRE_CODE(client.connection->CreateTable(wrong, client.stop), absl::StatusCode::kInvalidArgument);

  // A form may find out when it is made or when it is used.
  ReplayWriterOptions writer_options = client.writer_options;
  writer_options.writer_id = "lost";
  writer_options.tables = {"nowhere"};
  auto writer = client.connection->NewWriter(writer_options);
  absl::Status lost = writer.status();
  if (writer.ok()) {
    lost = (*writer)->Append(SingleRows(0, 1), client.stop);
    lost = lost.ok() ? (*writer)->Flush(kLong) : lost;
  }
  REQUIRE_CODE(lost, absl::StatusCode::kNotFound);
  REQUIRE(absl::StrContains(lost.message(), "replay"));

  ReplaySamplerOptions sampler_options = client.sampler_options;
  sampler_options.table.name = "nowhere";
  auto sampler = client.connection->NewSampler(sampler_options);
  REQUIRE_CODE(sampler.ok() ? (*sampler)->Next(client.stop).status() : sampler.status(), absl::StatusCode::kNotFound);

  auto updater = client.connection->NewPriorityUpdater("nowhere");
  lost = updater.status();
  if (updater.ok()) {
    lost = (*updater)->Update({1}, {1}, {1});
    lost = lost.ok() ? (*updater)->Flush(kLong) : lost;
  }
  REQUIRE_CODE(lost, absl::StatusCode::kNotFound);
}

void CheckWrongSignature(const NewReplay& new_replay) {
  Client client(new_replay, Prioritized(), 1);
  ReplayWriterOptions options = client.writer_options;
  options.writer_id = "other";
  options.signature[1].shape = {3};
  auto writer = client.connection->NewWriter(options);
  absl::Status refused = writer.status();
  if (writer.ok()) {
    refused = (*writer)->Append(SingleRows(0, 1), client.stop);
    refused = refused.ok() ? (*writer)->Flush(kLong) : refused;
  }
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(refused.message(), "pair: float32[3]"));
  REQUIRE(absl::StrContains(refused.message(), "pair: float32[2]"));
}

TableConfig Limited() {
  TableConfig table = Queue();
  table.rate_limiter.samples_per_insert = 1;
  table.rate_limiter.min_items = 2;
  table.rate_limiter.error_buffer = 2;
  return table;
}

void CheckLimiter(const NewReplay& new_replay) {
  Client client(new_replay, Limited(), 1, 1);
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

void CheckSamplerWaits(const NewReplay& new_replay) {
  TableConfig table = Queue();
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

void CheckStop(const NewReplay& new_replay) {
  Client client(new_replay, Limited(), 1, 1);
  const StopToken stop_sampler;
  absl::Status sampled;
  {
    const Thread sampler("sampler", [&] { sampled = client.sampler->Next(stop_sampler).status(); });
    stop_sampler.RequestStop();
  }
  REQUIRE_CODE(sampled, absl::StatusCode::kCancelled);
  REQUIRE_OK(client.writer->Append(SingleRows(0, 9), client.stop));
  const StopToken stop_writer;
  absl::Status appended;
  {
    const Thread writer("writer", [&] { appended = client.writer->Append(SingleRows(9, 1), stop_writer); });
    stop_writer.RequestStop();
  }
  REQUIRE_CODE(appended, absl::StatusCode::kCancelled);
}

void CheckImpossibleBatch(const NewReplay& new_replay) {
  Client client(new_replay, Limited(), 4);
  client.Insert(SingleRows(0, 3));
  const absl::Status status = client.sampler->Next(client.stop).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(status.message(), "error_buffer"));
}

void CheckTimesSampled(const NewReplay& new_replay) {
  Client client(new_replay, Table(SamplerConfig::Kind::kUniform, 3), 5);
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

void CheckFrequencies(const NewReplay& new_replay) {
  Client client(new_replay, Prioritized(), 100);
  std::vector<ItemInfo> items;
  for (uint64_t i = 0; i < 40; ++i) {
    items.push_back({0, 0, i, 1, static_cast<double>(i)});
  }
  client.Insert(MakeBlock({{0, 0, 40}}, items));
  std::map<int64_t, int> drawn;
  constexpr int kBatches = 200;
  for (int i = 0; i < kBatches; ++i) {
    for (const int64_t id : Values<int64_t>(client.Sample(), "id")) {
      ++drawn[id];
    }
  }
  REQUIRE(drawn.count(0) == 0);
  double statistic = 0;
  for (int64_t id = 1; id < 40; ++id) {
    const double expected = kBatches * 100.0 * static_cast<double>(id) / 780;
    statistic += std::pow(drawn[id] - expected, 2) / expected;
  }
  REQUIRE(statistic < 79);  // 38 degrees of freedom: independent draws exceed this once in 10 000 times.
}

}  // namespace

void CheckReplayConformance(const NewReplay& new_replay) {
  const double nan = std::nan("");
  SECTION("what is inserted is sampled, windows over chunks and blocks included") {
    CheckRoundTrip(new_replay);
  }
  SECTION("priorities arrive at the items they belong to") {
    CheckPriorityUpdates(new_replay);
  }
  SECTION("updates for items that have left are counted as stale or unknown") {
    CheckStaleAndUnknownUpdates(new_replay);
  }
  SECTION("an update with a bad priority is refused as a whole") {
    CheckBadPriorityUpdates(new_replay);
  }
  SECTION("an item with a priority that is negative is refused") {
    CheckBadBlocks(new_replay, SingleRows(2, 1, -1), "priority -1");
  }
  SECTION("an item with a priority that is not a number is refused") {
    CheckBadBlocks(new_replay, SingleRows(2, 1, nan), "not a finite number");
  }
  SECTION("an observation that is not finite is refused, with its place") {
    InsertBlock block = SingleRows(2, 2);
    const std::shared_ptr<char> bytes = AllocateBytes(block.data.size());
    block.data.CopyTo(bytes.get());
    const float bad = std::nanf("");
    std::memcpy(bytes.get() + 16 + 8 + 4, &bad, sizeof(bad));
    block.data = ByteSlices(ByteSlice{bytes.get(), 32, bytes});
    CheckBadBlocks(new_replay, std::move(block), "column \"pair\" of stream 0, row 3, element 1 is not finite");
  }
  SECTION("a block whose bytes do not fit its rows is refused") {
    InsertBlock block = SingleRows(2, 1);
    block.data = SingleRows(2, 2).data;
    CheckBadBlocks(new_replay, std::move(block), "got 32 bytes of rows; 1 rows of 16 bytes are 16");
  }
  SECTION("rows out of order are refused") {
    CheckBadBlocks(new_replay, SingleRows(5, 1), "the stream's next row is 2");
  }
  SECTION("a window longer than the table allows is refused") {
    CheckBadBlocks(new_replay, MakeBlock({{0, 2, 5}}, {{0, 0, 2, 5, 1}}), "allows 1 to 4");
  }
  SECTION("names are found, and what differs is said") {
    CheckNames(new_replay);
  }
  SECTION("a writer with other columns is refused, with both sides") {
    CheckWrongSignature(new_replay);
  }
  SECTION("the limiter holds inserts until samples make room") {
    CheckLimiter(new_replay);
  }
  SECTION("the limiter holds samples until there are enough items") {
    CheckSamplerWaits(new_replay);
  }
  SECTION("a stop ends calls that wait") {
    CheckStop(new_replay);
  }
  SECTION("a batch that could never be sampled is refused") {
    CheckImpossibleBatch(new_replay);
  }
  SECTION("no item is sampled more often than allowed") {
    CheckTimesSampled(new_replay);
  }
  SECTION("items are sampled as often as their priorities say") {
    CheckFrequencies(new_replay);
  }
}

}  // namespace waggle::testing
