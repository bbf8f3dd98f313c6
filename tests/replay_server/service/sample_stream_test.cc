#include "replay_server/service/sample_stream.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/reason.h"
#include "common/base/tensor/checksum.h"
#include "common/net/channel.h"
#include "common/replay/batch_assembler.h"
#include "common/replay/replay_convert.h"
#include "replay_server/base/refusal_reasons.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/support/catch.h"
#include "tests/support/recording_peer.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;
using Peer = testing::RecordingPeer<Message<v1::SampleResponse>>;

Message<v1::SampleRequest> Opening(const std::string& table, uint32_t batch_size, uint32_t credits) {
  Message<v1::SampleRequest> message;
  message.header.mutable_open()->set_table(table);
  message.header.mutable_open()->set_batch_size(batch_size);
  message.header.set_credits(credits);
  return message;
}

// A handler over a store with `items` items, without a network.
struct Stream {
  explicit Stream(const TableConfig& config, uint32_t items, SampleStreamOptions options = {}, bool take_at_once = true,
                  std::shared_ptr<BatchMemory> batch_memory = std::make_shared<BatchMemory>(int64_t{1} << 20))
      : table(config), memory(std::move(batch_memory)), peer(std::make_shared<Peer>(take_at_once)) {
    REQUIRE_OK(store.CreateTable(table));
    if (items > 0) {
      Insert(items);
    }
    handler = std::make_unique<SampleStream>(&store, Resources(), std::move(options));
    handler->OnOpen(peer);
  }

  // Drops unsent messages, as the transport does.
  ~Stream() {
    peer->Close(absl::CancelledError("the test is over"));
    budget->Close();
  }

  void Insert(uint32_t items) {
    const auto session = ValueOf(store.OpenWriter("w", {table.name}, table.signature));
    const int64_t width = table.signature[0].shape[0];
    session->Insert(session->applied_sequence() + 1, SimpleBlock(0, items, width),
                    [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
  }

  void Send(const std::string& open_table, uint32_t batch_size, uint32_t credits) {
    Message<v1::SampleRequest> message;
    if (!open_table.empty()) {
      message.header.mutable_open()->set_table(open_table);
      message.header.mutable_open()->set_batch_size(batch_size);
    }
    message.header.set_credits(credits);
    handler->OnMessage(std::move(message));
  }

  SampleResources Resources() { return {&executor, &executor, budget, memory, readers}; }
  Table::Info Info() { return ValueOf(store.FindTable(table.name))->info(); }

  const TableConfig table;
  ReplayStore store{ReplayStoreOptions()};
  // Waits until the executor, which has one thread, has run all submitted tasks.
  void Drain() {
    const StopToken drained;
    REQUIRE_OK(executor.Submit([drained] { drained.RequestStop(); }));
    REQUIRE(drained.WaitFor(absl::Seconds(10)));
  }

  Executor executor{"test", 1, 1'000};
  std::shared_ptr<MemoryAccount> budget = std::make_shared<MemoryAccount>(int64_t{1} << 30);
  const std::shared_ptr<BatchMemory> memory;
  const std::shared_ptr<SampleReaders> readers = std::make_shared<SampleReaders>(SampleReadersOptions());
  const std::shared_ptr<Peer> peer;
  std::unique_ptr<SampleStream> handler;
};

TEST_CASE("Opening is answered with the layout, and every credit with a batch", "[unit]") {
  uint64_t counted = 0;
  SampleStreamOptions options;
  options.on_sampled = [&counted](uint64_t items) { counted += items; };
  Stream stream(SimpleTable("t"), 10, options);
  stream.Send("t", 4, 2);
  auto messages = stream.peer->messages();
  REQUIRE(messages.size() == 3);
  const BatchLayout layout = ValueOf(MakeBatchLayout(stream.table, 4, 1 << 20));
  REQUIRE_OK(CheckSameLayout(messages[0].header.opened(), layout));
  for (int i = 1; i <= 2; ++i) {
    CHECK(messages[i].header.batch().table_items() == 10);
    CHECK(messages[i].header.data_offset() == 0);
    CHECK(messages[i].data.size() == layout.total_bytes);
  }
  CHECK(counted == 8);
  stream.Send("", 0, 3);
  CHECK(stream.peer->messages().size() == 6);
  CHECK(stream.peer->requests() == 2);
}

TEST_CASE("Large rows are sent without a copy, or copied if too many bytes are lent, with the same bytes", "[unit]") {
  constexpr int64_t kWidth = 3'000;
  constexpr uint32_t kBatch = 100;  // More bytes than a message.
  const TableConfig table = SimpleTable("t", kWidth);
  const int64_t max_lent = GENERATE(int64_t{0}, int64_t{1} << 30);
  SampleStreamOptions options;
  options.max_inline_bytes = int64_t{1} << 30;
  Stream stream(table, 10, options, true, std::make_shared<BatchMemory>(0, max_lent));
  stream.Send("t", kBatch, 2);
  const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table, kBatch, 1 << 30)));
  BufferPool pool(layout->total_bytes, 2);
  BatchAssembler assembler([&layout](uint32_t /*items*/) { return layout; }, &pool);
  int batches = 0;
  auto messages = stream.peer->messages();
  for (size_t i = 1; i < messages.size(); ++i) {
    const ByteSlices& data = messages[i].data;
    const bool lends = std::any_of(data.slices().begin(), data.slices().end(),
                                   [](const ByteSlice& slice) { return slice.size == kWidth * sizeof(float); });
    REQUIRE(lends == (max_lent > 0));
    const auto batch = ValueOf(assembler.Add(messages[i].header, data));
    for (uint32_t row = 0; batch.has_value() && row < kBatch; ++row) {
      const float reward = static_cast<const float*>(batch->Data("reward"))[row];
      const float* const observation = static_cast<const float*>(batch->Data("observation")) + row * kWidth;
      REQUIRE(std::all_of(observation, observation + kWidth, [reward](float value) { return value == reward; }));
    }
    batches += batch.has_value() ? 1 : 0;
  }
  REQUIRE(batches == 2);
}

TEST_CASE("Batches are compressed if the sampler asks for it", "[unit]") {
  constexpr uint32_t kBatch = 100;
  const TableConfig table = SimpleTable("t", 3'000);
  SampleStreamOptions options;
  options.max_inline_bytes = int64_t{1} << 30;
  Stream stream(table, 10, options, true, std::make_shared<BatchMemory>(0, int64_t{1} << 30));
  Message<v1::SampleRequest> open;
  open.header.mutable_open()->set_table("t");
  open.header.mutable_open()->set_batch_size(kBatch);
  open.header.mutable_open()->set_compression(v1::ColumnCompression::CODEC_LZ4);
  open.header.set_credits(1);
  stream.handler->OnMessage(std::move(open));
  const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table, kBatch, 1 << 30)));
  BufferPool pool(layout->total_bytes, 2);
  BatchAssembler assembler([&layout](uint32_t /*items*/) { return layout; }, &pool);
  std::optional<SampledBatch> batch;
  size_t bytes = 0;
  auto messages = stream.peer->messages();
  for (size_t i = 1; i < messages.size(); ++i) {
    bytes += messages[i].data.size();
    batch = ValueOf(assembler.Add(messages[i].header, messages[i].data));
  }
  REQUIRE(batch.has_value());
  REQUIRE(bytes < layout->total_bytes / 20);
  for (uint32_t row = 0; row < kBatch; ++row) {
    const float reward = static_cast<const float*>(batch->Data("reward"))[row];
    const float* const observation = static_cast<const float*>(batch->Data("observation")) + row * 3'000;
    REQUIRE(std::all_of(observation, observation + 3'000, [reward](float value) { return value == reward; }));
  }
}

TEST_CASE("Unsent compressed batches hold their share of the memory", "[unit]") {
  const TableConfig table = SimpleTable("t", 3'000);
  SampleStreamOptions options;
  options.max_inline_bytes = int64_t{1} << 30;
  options.max_batches_in_flight = 2;
  Stream stream(table, 10, options, /*take_at_once=*/false);
  Message<v1::SampleRequest> open;
  open.header.mutable_open()->set_table("t");
  open.header.mutable_open()->set_batch_size(10);
  open.header.mutable_open()->set_compression(v1::ColumnCompression::CODEC_ZSTD);
  open.header.set_credits(2);
  stream.handler->OnMessage(std::move(open));
  const auto bytes = static_cast<int64_t>(ValueOf(MakeBatchLayout(table, 10, 1 << 30)).total_bytes);
  CHECK(stream.budget->used() == 2 * bytes);
  REQUIRE(stream.peer->TakeOne());  // `opened`.
  REQUIRE(stream.peer->TakeOne());
  CHECK(stream.budget->used() == bytes);
  REQUIRE(stream.peer->TakeOne());
  CHECK(stream.budget->used() == 0);
}

TEST_CASE("Draws of any size are answered in order, with the state of the table at that time", "[unit]") {
  TableConfig table = SimpleTable("t");
  table.rate_limiter.samples_per_insert = 100;
  table.rate_limiter.min_difference = 0;
  table.rate_limiter.max_difference = 10'000;
  SampleStreamOptions options;
  options.max_inline_bytes = 700;  // Larger batches go through the executor.
  Stream stream(table, 10, options);
  stream.Send("t", 50, 0);
  Message<v1::SampleRequest> draws;
  const std::vector<uint32_t> sizes = {3, 50, 0, 1, 50, 2};
  for (const uint32_t items : sizes) {
    draws.header.add_draw_items(items);
    draws.header.add_draw_counted(7);
  }
  draws.header.set_credits(1);
  stream.handler->OnMessage(std::move(draws));
  REQUIRE(stream.peer->AwaitMessages(8));
  const auto messages = stream.peer->messages();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto& message = messages[i + 1];
    const v1::BatchHeader& header = message.header.batch();
    CHECK(header.items() == sizes[i]);
    CHECK(header.table_items() == 10);
    CHECK(header.samples_allowed() == 1000 - 7 * (static_cast<double>(i) + 1));
    CHECK(header.table_incarnation() != 0);
    const size_t bytes = sizes[i] == 0 ? 0 : ValueOf(MakeBatchLayout(stream.table, sizes[i], 1 << 20)).total_bytes;
    CHECK(message.data.size() == bytes);
    CHECK(message.header.has_checksum() == (bytes > 0));
    if (bytes > 0) {
      CHECK(message.header.checksum() == Checksum(message.data));
    }
  }
  CHECK(messages[7].header.batch().items() == 50);
  CHECK(stream.Info().items_sampled == 6 * 7 + 50);
}

TEST_CASE("Draws of more than the batch size are refused", "[unit]") {
  const auto refused = [](const std::vector<uint32_t>& items, const std::vector<uint32_t>& counted) {
    SampleStreamOptions options;
    options.max_credits = 5;
    Stream stream(SimpleTable("t"), 10, options);
    stream.Send("t", 4, 0);
    Message<v1::SampleRequest> draws;
    draws.header.mutable_draw_items()->Add(items.begin(), items.end());
    draws.header.mutable_draw_counted()->Add(counted.begin(), counted.end());
    stream.handler->OnMessage(std::move(draws));
    return stream.peer->closed().value_or(absl::OkStatus());
  };
  REQUIRE_OK(refused({4, 0}, {4, 4}));
  REQUIRE_CODE(refused({5}, {5}), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(refused({4, 4}, {4}), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(refused({1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}), absl::StatusCode::kResourceExhausted);
}

TEST_CASE("A large batch is cut into pieces that share its memory and follow each other", "[unit]") {
  Stream stream(SimpleTable("t", 20'000), 100);
  stream.Send("t", 64, 3);
  const size_t total = ValueOf(MakeBatchLayout(stream.table, 64, 1 << 30)).total_bytes;
  const size_t pieces = (total + kPieceBytes - 1) / kPieceBytes;
  REQUIRE(pieces >= 3);
  REQUIRE(stream.peer->AwaitMessages(1 + 3 * pieces));
  const auto messages = stream.peer->messages();
  REQUIRE(messages.size() == 1 + 3 * pieces);
  size_t next = 0;
  for (size_t i = 1; i < messages.size(); ++i) {
    const auto& message = messages[i];
    CHECK(message.header.data_offset() == next);
    CHECK(message.header.has_batch() == (next == 0));
    CHECK(message.data.size() <= static_cast<size_t>(kPieceBytes));
    if (next > 0) {
      CHECK(message.data.slices()[0].owner == messages[i - 1].data.slices()[0].owner);
    }
    next = (next + message.data.size()) % total;
  }
  CHECK(next == 0);
}

TEST_CASE("Until the peer has read, only as many batches are sampled as may be in flight", "[unit]") {
  SampleStreamOptions options;
  options.max_batches_in_flight = 2;
  Stream stream(SimpleTable("t"), 10, options, /*take_at_once=*/false);
  stream.Send("t", 4, 10);
  CHECK(stream.Info().items_sampled == 8);
  REQUIRE(stream.peer->TakeOne());  // `opened`.
  CHECK(stream.Info().items_sampled == 8);
  REQUIRE(stream.peer->TakeOne());
  CHECK(stream.Info().items_sampled == 12);
}

TEST_CASE("One batch may be in flight even if it is larger than max_bytes_in_flight", "[unit]") {
  SampleStreamOptions options;
  options.max_bytes_in_flight = 1;
  Stream stream(SimpleTable("t"), 10, options, /*take_at_once=*/false);
  stream.Send("t", 4, 10);
  CHECK(stream.Info().items_sampled == 4);
}

TEST_CASE("Credits beyond the limit are refused", "[unit]") {
  SampleStreamOptions options;
  options.max_credits = 5;
  Stream stream(SimpleTable("t"), 0, options);
  stream.Send("t", 4, 5);
  CHECK(!stream.peer->closed().has_value());
  stream.Send("", 0, 0xFFFFFFFFU);
  REQUIRE(stream.peer->closed().has_value());
  CHECK(stream.peer->closed()->code() == absl::StatusCode::kResourceExhausted);
}

TEST_CASE("A batch of more items than allowed is refused, even if they are small", "[unit]") {
  Stream stream(SimpleTable("t"), 0);
  stream.Send("t", 65'537, 1);
  REQUIRE(stream.peer->closed().has_value());
  CHECK(stream.peer->closed()->code() == absl::StatusCode::kResourceExhausted);
  CHECK(std::string(stream.peer->closed()->message()).find("65536 items") != std::string::npos);
}

TEST_CASE("A sampler that waits is answered when there are items", "[unit]") {
  Stream stream(SimpleTable("t"), 0);
  stream.Send("t", 4, 1);
  CHECK(stream.peer->messages().size() == 1);
  CHECK(stream.Info().samples_waiting == 1);
  stream.Insert(3);
  CHECK(stream.peer->messages().size() == 2);
  CHECK(stream.Info().samples_waiting == 0);
}

TEST_CASE("The end of a stream cancels waiting batches", "[unit]") {
  for (const int64_t max_inline_bytes : {int64_t{0}, int64_t{1} << 20}) {
    CAPTURE(max_inline_bytes);
    SampleStreamOptions options;
    options.max_inline_bytes = max_inline_bytes;
    Stream stream(SimpleTable("t"), 0, options);
    stream.Send("t", 4, 8);
    CHECK(stream.Info().samples_waiting == 8);
    stream.handler.reset();
    stream.Drain();
    CHECK(stream.Info().samples_waiting == 0);
    stream.Insert(10);
    stream.Drain();
    CHECK(stream.Info().items_sampled == 0);
    CHECK(stream.peer->messages().size() == 1);
    CHECK(stream.budget->used() == 0);
  }
}

TEST_CASE("A large batch is not gathered by the thread that inserts the item that it waited for", "[unit]") {
  for (const int64_t max_inline_bytes : {int64_t{0}, int64_t{1} << 20}) {
    CAPTURE(max_inline_bytes);
    SampleStreamOptions options;
    options.max_inline_bytes = max_inline_bytes;
    Stream stream(SimpleTable("t"), 0, options);
    stream.Send("t", 4, 1);
    // The executor is busy, so a batch that is sent after the insert was gathered by the inserting thread.
    const StopToken go_on;
    REQUIRE_OK(stream.executor.Submit([go_on] { go_on.WaitFor(absl::Seconds(30)); }));
    stream.Insert(3);
    CHECK(stream.Info().items_sampled == 4);
    CHECK(stream.peer->messages().size() == (max_inline_bytes > 0 ? 2 : 1));
    go_on.RequestStop();
    CHECK(stream.peer->AwaitMessages(2));
  }
}

TEST_CASE("Streams share a budget of bytes: a stream waits until another stream's batch has been read", "[unit]") {
  Stream first(SimpleTable("t"), 10, {}, /*take_at_once=*/false);
  const auto batch = static_cast<int64_t>(ValueOf(MakeBatchLayout(first.table, 4, 1 << 20)).total_bytes);
  // Both streams use the first one's store, executor and budget.
  first.budget->Close();
  first.budget = std::make_shared<MemoryAccount>(2 * batch);
  first.handler = std::make_unique<SampleStream>(&first.store, first.Resources(), SampleStreamOptions());
  first.handler->OnOpen(first.peer);
  const auto peer = std::make_shared<Peer>(/*take_at_once=*/true);
  SampleStream second(&first.store, first.Resources(), SampleStreamOptions());
  second.OnOpen(peer);

  first.Send("t", 4, 2);
  CHECK(first.peer->messages().size() == 3);
  CHECK(first.budget->used() == 2 * batch);
  second.OnMessage(Opening("t", 4, 1));
  first.Drain();
  CHECK(peer->messages().size() == 1);  // Opened, but its batch waits.
  first.peer->Close(absl::OkStatus());
  first.handler = nullptr;
  first.peer->Forget();
  CHECK(peer->AwaitMessages(2));
  peer->Forget();
  // The sending thread holds the share until it returns.
  testing::Eventually("all bytes are back", [&] { return first.budget->used() == 0; });
}

TEST_CASE("A stream that ends while its batches wait for bytes holds none, and does not block later streams",
          "[unit]") {
  const TableConfig table = SimpleTable("t");
  const auto bytes = [&table](int64_t items) {
    return static_cast<int64_t>(ValueOf(MakeBatchLayout(table, items, 1 << 20)).total_bytes);
  };
  Stream first(table, 10, {}, /*take_at_once=*/false);
  first.budget->Close();
  first.budget = std::make_shared<MemoryAccount>(2 * bytes(20));
  const auto open = [&first](const std::shared_ptr<Peer>& peer, uint32_t batch_size) {
    auto stream = std::make_unique<SampleStream>(&first.store, first.Resources(), SampleStreamOptions());
    stream->OnOpen(peer);
    stream->OnMessage(Opening("t", batch_size, 1));
    return stream;
  };
  first.handler = open(first.peer, 20);  // Half of all bytes.
  CHECK(first.budget->used() == bytes(20));
  const auto waits = std::make_shared<Peer>();
  auto second = open(waits, 40);
  const auto behind = std::make_shared<Peer>();
  const auto third = open(behind, 4);
  CHECK(first.Info().items_sampled == 64);
  CHECK(behind->messages().size() == 1);  // Opened. There are enough bytes, but it is not its turn.
  second.reset();
  CHECK(waits.use_count() == 1);  // The stream and its batch are gone.
  CHECK(behind->AwaitMessages(2));
  behind->Close(absl::CancelledError("the test is over"));
}

SampleResources NewResources(Executor* executor, Executor* disk_executor) {
  return {executor, disk_executor, std::make_shared<MemoryAccount>(int64_t{1} << 30),
          std::make_shared<BatchMemory>(int64_t{1} << 20), std::make_shared<SampleReaders>(SampleReadersOptions())};
}

// A table with ten items whose rows can be on a disk.
struct TieredTable {
  TieredTable() {
    TableConfig config = SimpleTable("t");
    config.memory_limit = 1 << 20;
    REQUIRE_OK(store.CreateTable(config));
    table = ValueOf(store.FindTable("t"));
    ValueOf(store.OpenWriter("w", {"t"}, config.signature))
        ->Insert(1, SimpleBlock(0, 10), [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
  }

  void LeaveMemory() const {
    table->tier()->SetLimit(1);
    testing::Eventually("the rows leave", [this] { return table->tier()->info().memory_bytes == 0; });
  }

  const std::shared_ptr<testing::FakeColdRows> disk = std::make_shared<testing::FakeColdRows>();
  ChunkTiers tiers{disk};
  ReplayStore store{ReplayStoreOptions(), /*log=*/nullptr, &tiers};
  std::shared_ptr<Table> table;
};

TEST_CASE("A batch with all rows in memory does not wait for batches that are read from disk", "[unit]") {
  TieredTable tiered;
  Executor executor("test", 1, 100);
  Executor disk_executor("disk", 1, 100);
  const StopToken release;
  REQUIRE_OK(disk_executor.Submit([release] { release.Wait(); }));
  const auto peer = std::make_shared<Peer>(/*take_at_once=*/true);
  SampleStreamOptions options;
  options.max_inline_bytes = GENERATE(1 << 20, 0);
  SampleStream stream(&tiered.store, NewResources(&executor, &disk_executor), options);
  stream.OnOpen(peer);
  stream.OnMessage(Opening("t", 4, 1));
  CHECK(peer->AwaitMessages(2));
  // Now no row is in memory.
  tiered.LeaveMemory();
  Message<v1::SampleRequest> message;
  message.header.set_credits(1);
  stream.OnMessage(std::move(message));
  const StopToken drained;
  REQUIRE_OK(executor.Submit([drained] { drained.RequestStop(); }));
  drained.Wait();
  CHECK(peer->messages().size() == 2);
  release.RequestStop();
  CHECK(peer->AwaitMessages(3));
  peer->Close(absl::CancelledError("the test is over"));
}

TEST_CASE("A sampler whose rows cannot be read because files have run out gets UNAVAILABLE", "[unit]") {
  TieredTable tiered;
  tiered.LeaveMemory();
  tiered.disk->FailReads(absl::ResourceExhaustedError("Too many open files"));
  Executor executor("test", 1, 100);
  const auto peer = std::make_shared<Peer>();
  SampleStream stream(&tiered.store, NewResources(&executor, &executor), SampleStreamOptions());
  stream.OnOpen(peer);
  stream.OnMessage(Opening("t", 4, 1));
  REQUIRE(peer->AwaitClosed());
  REQUIRE_CODE(*peer->closed(), absl::StatusCode::kUnavailable);
  CHECK(ReasonOf(*peer->closed()) == reasons::kDisk);
}

TEST_CASE("An ended stream submits no read from disk", "[unit]") {
  TieredTable tiered;
  tiered.LeaveMemory();
  const StopToken release;
  Executor disk_executor("disk", 1, 1);  // Its thread is busy, and its queue has one place.
  const StopToken disk_busy;
  REQUIRE_OK(disk_executor.Submit([disk_busy, release] {
    disk_busy.RequestStop();
    release.Wait();
  }));
  disk_busy.Wait();
  Executor executor("test", 1, 100);
  const StopToken go_on;
  REQUIRE_OK(executor.Submit([go_on] { go_on.Wait(); }));
  const auto peer = std::make_shared<Peer>();
  SampleStreamOptions options;
  options.max_inline_bytes = 0;
  auto stream = std::make_unique<SampleStream>(&tiered.store, NewResources(&executor, &disk_executor), options);
  stream->OnOpen(peer);
  stream->OnMessage(Opening("t", 4, 1));
  CHECK(tiered.table->info().items_sampled == 4);
  stream.reset();
  go_on.RequestStop();
  const StopToken drained;
  REQUIRE_OK(executor.Submit([drained] { drained.RequestStop(); }));
  drained.Wait();
  CHECK(disk_executor.Submit([] {}).ok());  // The place in the queue is free.
  release.RequestStop();
}

TEST_CASE("A stream whose peer is done ends when every credit is answered", "[unit]") {
  Stream stream(SimpleTable("t"), 0);
  stream.Send("t", 4, 2);
  stream.handler->OnPeerDone();
  CHECK(!stream.peer->closed().has_value());
  stream.Insert(10);
  REQUIRE(stream.peer->closed().has_value());
  CHECK(*stream.peer->closed() == absl::OkStatus());
  CHECK(stream.peer->messages().size() == 3);
}

TEST_CASE("A server that stops asks its samplers to come back", "[unit]") {
  Stream stream(SimpleTable("t"), 0);
  stream.Send("t", 4, 2);
  stream.store.Close();
  REQUIRE(stream.peer->closed().has_value());
  CHECK(stream.peer->closed()->code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("Invalid options are named", "[unit]") {
  SampleStreamOptions options;
  REQUIRE_OK(options.Validate());
  options.max_batches_in_flight = 0;
  options.max_credits = 0;
  const absl::Status status = options.Validate();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK(status.message() == "max_credits: 0 is less than 1; max_batches_in_flight: 0 is less than 1");
}

TEST_CASE("Messages out of order are refused", "[unit]") {
  {
    Stream stream(SimpleTable("t"), 0);
    stream.Send("", 0, 1);
    CHECK(stream.peer->closed()->code() == absl::StatusCode::kInvalidArgument);
  }
  Stream stream(SimpleTable("t"), 0);
  stream.Send("t", 4, 1);
  stream.Send("t", 4, 1);
  CHECK(stream.peer->closed()->code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
