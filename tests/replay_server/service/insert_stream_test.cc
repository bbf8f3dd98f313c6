#include "replay_server/service/insert_stream.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "common/net/array_spec_convert.h"
#include "common/replay/replay_convert.h"
#include "tests/support/catch.h"
#include "tests/support/recording_peer.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;
using Peer = testing::RecordingPeer<Message<v1::InsertResponse>>;

// Blocks are applied by the calling thread, so their results are there when OnMessage returns.
InsertStreamOptions AtOnce() {
  InsertStreamOptions options;
  options.max_inline_bytes = int64_t{1} << 30;
  return options;
}

// A handler over a store, without a network.
struct Stream {
  explicit Stream(const TableConfig& config, InsertStreamOptions options = AtOnce(), bool take_at_once = true,
                  const ReplayStoreOptions& store_options = {})
      : table(config), store(store_options), peer(std::make_shared<Peer>(take_at_once)) {
    REQUIRE_OK(store.CreateTable(table));
    handler = std::make_unique<InsertStream>(&store, &executor, std::move(options));
    handler->OnOpen(peer);
  }

  // Drops unsent messages, as the transport does.
  ~Stream() { peer->Close(absl::CancelledError("the test is over")); }

  // Opens a new stream for the writer, or for another writer of its name.
  std::shared_ptr<Peer> Reopen(uint64_t incarnation = 0, InsertStreamOptions options = AtOnce()) {
    auto next = std::make_shared<Peer>();
    handler = std::make_unique<InsertStream>(&store, &executor, std::move(options));
    handler->OnOpen(next);
    Open(incarnation);
    return next;
  }

  // Makes room for one item.
  void SampleOne() {
    const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table, 1, 1 << 20)));
    Find()->Sample(layout, 1, [](const absl::StatusOr<SampledBatch>& /*batch*/) {});
  }

  void Open(uint64_t incarnation = 0, const std::string& writer = "w") {
    Message<v1::InsertRequest> message;
    v1::InsertOpen* open = message.header.mutable_open();
    open->set_writer_id(writer);
    open->set_incarnation(incarnation);
    open->add_tables(table.name);
    for (const ArraySpec& column : table.signature) {
      *open->add_signature() = ToProto(column);
    }
    handler->OnMessage(std::move(message));
  }

  void Insert(uint64_t sequence, InsertBlock block) {
    Message<v1::InsertRequest> message;
    *message.header.mutable_block() = ToProto(block);
    message.header.mutable_block()->set_sequence(sequence);
    message.data = std::move(block.data);
    handler->OnMessage(std::move(message));
  }

  std::shared_ptr<Table> Find() { return ValueOf(store.FindTable(table.name)); }

  const TableConfig table;
  ReplayStore store;
  Executor executor{"test", 1, 100};
  const std::shared_ptr<Peer> peer;
  std::unique_ptr<InsertStream> handler;
};

// A table that takes five items and then one for each sample.
TableConfig LimitedTable() {
  TableConfig table = SimpleTable("limited");
  table.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/4, /*error_buffer=*/1};
  return table;
}

TEST_CASE("Opening is answered with the applied sequence", "[unit]") {
  Stream stream(SimpleTable("t"));
  stream.Open();
  REQUIRE(stream.peer->messages().size() == 1);
  CHECK(stream.peer->messages()[0].header.opened().applied_sequence() == 0);
  CHECK(stream.peer->requests() == 1);
  stream.Insert(1, SimpleBlock(0, 3));
  stream.Insert(2, SimpleBlock(3, 3));

  const auto again = std::make_shared<Peer>();
  stream.handler = std::make_unique<InsertStream>(&stream.store, &stream.executor, AtOnce());
  stream.handler->OnOpen(again);
  stream.Open();
  REQUIRE(again->messages().size() == 1);
  CHECK(again->messages()[0].header.opened().applied_sequence() == 2);
}

TEST_CASE("Blocks are applied in order and acknowledged with their counts", "[unit]") {
  uint64_t counted = 0;
  InsertStreamOptions options = AtOnce();
  options.on_inserted = [&counted](uint64_t items) { counted += items; };
  Stream stream(SimpleTable("t"), options);
  stream.Open();
  stream.Insert(1, SimpleBlock(0, 3));
  stream.Insert(2, SimpleBlock(3, 2));
  const auto messages = stream.peer->messages();
  REQUIRE(messages.size() == 3);
  CHECK(messages[1].header.ack().applied_sequence() == 1);
  CHECK(messages[2].header.ack().applied_sequence() == 2);
  CHECK(messages[2].header.ack().items_inserted() == 5);
  CHECK(counted == 5);
  CHECK(stream.Find()->info().items == 5);
  CHECK(stream.peer->requests() == 3);
}

TEST_CASE("A repeated block is acknowledged again and not applied again", "[unit]") {
  Stream stream(SimpleTable("t"));
  stream.Open();
  stream.Insert(1, SimpleBlock(0, 3));
  stream.Insert(1, SimpleBlock(0, 3));
  const auto messages = stream.peer->messages();
  REQUIRE(messages.size() == 3);
  CHECK(messages[2].header.ack().applied_sequence() == 1);
  CHECK(messages[2].header.ack().items_inserted() == 3);
  CHECK(stream.Find()->info().items == 3);
}

TEST_CASE("Blocks that are applied while an acknowledgement is unsent share the next one", "[unit]") {
  Stream stream(SimpleTable("t"), AtOnce(), /*take_at_once=*/false);
  stream.Open();
  REQUIRE(stream.peer->TakeOne());
  for (uint64_t i = 0; i < 20; ++i) {
    stream.Insert(i + 1, SimpleBlock(i, 1));
  }
  REQUIRE(stream.peer->messages().size() == 2);
  CHECK(stream.peer->messages()[1].header.ack().applied_sequence() == 1);
  REQUIRE(stream.peer->TakeOne());
  REQUIRE(stream.peer->messages().size() == 3);
  CHECK(stream.peer->messages()[2].header.ack().applied_sequence() == 20);
  REQUIRE(stream.peer->TakeOne());
  CHECK(stream.peer->messages().size() == 3);
}

TEST_CASE("While the table has no room, only max_blocks_in_flight are read", "[unit]") {
  InsertStreamOptions options = AtOnce();
  options.max_blocks_in_flight = 3;
  Stream stream(LimitedTable(), options);
  stream.Open();
  uint64_t sequence = 0;
  while (stream.peer->requests() > static_cast<int>(sequence)) {
    REQUIRE(sequence < 100);
    stream.Insert(sequence + 1, SimpleBlock(sequence, 1));
    ++sequence;
  }
  const auto table = stream.Find();
  CHECK(table->info().items_inserted == 5);
  CHECK(sequence == 5 + 3);
  // A sample makes room for one more block, which is acknowledged, and the next one is requested.
  const int requests = stream.peer->requests();
  const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(stream.table, 1, 1 << 20)));
  table->Sample(layout, 1, [](const absl::StatusOr<SampledBatch>& /*batch*/) {});
  CHECK(table->info().items_inserted == 6);
  CHECK(stream.peer->requests() == requests + 1);
  CHECK(stream.peer->messages().back().header.ack().applied_sequence() == 6);
}

TEST_CASE("Bytes in flight are bounded as well", "[unit]") {
  InsertStreamOptions options = AtOnce();
  options.max_bytes_in_flight = 1;
  Stream stream(LimitedTable(), options);
  stream.Open();
  stream.Insert(1, SimpleBlock(0, 9));
  CHECK(stream.peer->requests() == 1);
}

TEST_CASE("Blocks are applied on the executor, in their order", "[unit]") {
  InsertStreamOptions options = AtOnce();
  options.max_inline_bytes = 0;
  options.turn_bytes = GENERATE(int64_t{0}, int64_t{1} << 20);
  Stream stream(SimpleTable("t"), options);
  stream.Open();
  uint64_t sequence = 0;
  while (sequence < 50) {
    REQUIRE(stream.peer->AwaitRequests(static_cast<int>(sequence) + 1));
    stream.Insert(sequence + 1, SimpleBlock(sequence, 1));
    ++sequence;
  }
  stream.handler->OnPeerDone();
  REQUIRE(stream.peer->AwaitClosed());
  CHECK(*stream.peer->closed() == absl::OkStatus());
  CHECK(stream.peer->messages().back().header.ack().applied_sequence() == 50);
  CHECK(stream.Find()->info().items == 50);
}

TEST_CASE("A stream whose peer is done ends when all blocks are acknowledged", "[unit]") {
  Stream stream(SimpleTable("t"), AtOnce(), /*take_at_once=*/false);
  stream.Open();
  REQUIRE(stream.peer->TakeOne());
  stream.Insert(1, SimpleBlock(0, 1));
  stream.handler->OnPeerDone();
  CHECK(!stream.peer->closed().has_value());
  REQUIRE(stream.peer->TakeOne());
  REQUIRE(stream.peer->closed().has_value());
  CHECK(*stream.peer->closed() == absl::OkStatus());
}

TEST_CASE("A server that stops asks its writers to come back", "[unit]") {
  Stream stream(LimitedTable());
  stream.Open();
  stream.Insert(1, SimpleBlock(0, 9));
  stream.store.Close();
  REQUIRE(stream.peer->closed().has_value());
  CHECK(stream.peer->closed()->code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("A block that is applied while its writer comes back is counted once", "[unit]") {
  uint64_t counted = 0;
  InsertStreamOptions options = AtOnce();
  options.on_inserted = [&counted](uint64_t items) { counted += items; };
  Stream stream(LimitedTable(), options);
  stream.Open();
  stream.Insert(1, SimpleBlock(0, 6));
  const auto again = stream.Reopen(0, options);
  REQUIRE(again->messages().size() == 1);
  CHECK(again->messages()[0].header.opened().applied_sequence() == 0);
  SECTION("applied before it is sent again") {
    stream.SampleOne();
    stream.Insert(1, SimpleBlock(0, 6));
  }
  SECTION("applied after it is sent again") {
    stream.Insert(1, SimpleBlock(0, 6));
    stream.SampleOne();
  }
  REQUIRE(again->messages().size() == 2);
  CHECK(again->messages()[1].header.ack().applied_sequence() == 1);
  CHECK(again->messages()[1].header.ack().items_inserted() == 6);
  CHECK(counted == 6);
  const auto last = stream.Reopen();
  CHECK(last->messages()[0].header.opened().applied_sequence() == 1);
  CHECK(last->messages()[0].header.opened().items_inserted() == 6);
}

TEST_CASE("A second writer of the same name is refused, with or without blocks of the first one", "[unit]") {
  Stream stream(LimitedTable());
  stream.Open(/*incarnation=*/1);
  SECTION("without blocks") {}
  SECTION("with a block that waits for room") {
    stream.Insert(1, SimpleBlock(0, 6));
  }
  const auto other = stream.Reopen(/*incarnation=*/2);
  REQUIRE(other->closed().has_value());
  CHECK(other->closed()->code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(other->closed()->message()), Catch::Contains("writer \"w\": another writer has this id"));
  const auto first = stream.Reopen(/*incarnation=*/1);
  CHECK(!first->closed().has_value());
}

TEST_CASE("Another writer may take the name of a writer whose stream ended with all blocks acknowledged", "[unit]") {
  Stream stream(SimpleTable("t"));
  stream.Open(/*incarnation=*/1);
  stream.Insert(1, SimpleBlock(0, 6));
  stream.handler->OnPeerDone();
  REQUIRE(stream.peer->closed() == absl::OkStatus());
  const auto other = stream.Reopen(/*incarnation=*/2);
  REQUIRE(other->messages().size() == 1);
  CHECK(other->messages()[0].header.opened().applied_sequence() == 0);
  stream.Insert(1, SimpleBlock(0, 4));
  CHECK(other->messages()[1].header.ack().items_inserted() == 4);
  CHECK(stream.Find()->info().items_inserted == 10);
  SECTION("the first writer is refused while the other one is connected") {
    const auto first = stream.Reopen(/*incarnation=*/1);
    REQUIRE(first->closed().has_value());
    CHECK(first->closed()->code() == absl::StatusCode::kFailedPrecondition);
  }
  SECTION("the first writer may come back later, and inserts nothing twice") {
    stream.handler->OnPeerDone();
    const auto first = stream.Reopen(/*incarnation=*/1);
    REQUIRE(first->messages().size() == 1);
    CHECK(first->messages()[0].header.opened().applied_sequence() == 1);
    CHECK(first->messages()[0].header.opened().items_inserted() == 6);
  }
}

TEST_CASE("The name of a writer is not free while an acknowledgement is unsent", "[unit]") {
  Stream stream(SimpleTable("t"), AtOnce(), /*take_at_once=*/false);
  stream.Open(/*incarnation=*/1);
  stream.Insert(1, SimpleBlock(0, 6));
  stream.handler->OnPeerDone();
  CHECK(!stream.peer->closed().has_value());
  const auto other = stream.Reopen(/*incarnation=*/2);
  REQUIRE(other->closed().has_value());
  CHECK(other->closed()->code() == absl::StatusCode::kFailedPrecondition);
}

// Several writers of one table without room, with one budget.
struct Budgeted {
  explicit Budgeted(int64_t bytes) : budget(std::make_shared<MemoryAccount>(bytes)) {}
  ~Budgeted() { budget->Close(); }

  struct Writer {
    std::shared_ptr<Peer> peer = std::make_shared<Peer>();
    std::unique_ptr<InsertStream> handler;
    uint64_t sequence = 0;
  };
  Writer* Add(const std::string& name) {
    auto writer = std::make_unique<Writer>();
    writer->handler = std::make_unique<InsertStream>(&first.store, &first.executor, AtOnce(), budget);
    writer->handler->OnOpen(writer->peer);
    std::swap(first.handler, writer->handler);
    first.Open(0, name);
    std::swap(first.handler, writer->handler);
    writers.push_back(std::move(writer));
    return writers.back().get();
  }
  void Insert(Writer* writer) {
    std::swap(first.handler, writer->handler);
    first.Insert(writer->sequence + 1, SimpleBlock(writer->sequence, 1));
    std::swap(first.handler, writer->handler);
    ++writer->sequence;
  }
  // Sends all requested blocks.
  void Flood(Writer* writer) {
    while (writer->peer->requests() > static_cast<int>(writer->sequence)) {
      Insert(writer);
    }
  }
  // Waits, because the budget's own thread grants bytes.
  bool AwaitUsed(int64_t bytes) const {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (budget->used() != bytes && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return budget->used() == bytes;
  }

  Stream first{LimitedTable()};
  const std::shared_ptr<MemoryAccount> budget;
  std::vector<std::unique_ptr<Writer>> writers;
};

TEST_CASE("All streams together take in no more than their budget, except one block each", "[unit]") {
  Budgeted server(1);
  Budgeted::Writer* const one = server.Add("one");
  server.Flood(one);
  REQUIRE(server.first.Find()->info().items_inserted == 5);
  CHECK(one->sequence == 6);
  CHECK(server.budget->used() > 0);
  Budgeted::Writer* const other = server.Add("other");
  server.Flood(other);
  CHECK(other->sequence == 1);
  // One more item is let in. Its writer has no block left there, and may send another one.
  server.first.SampleOne();
  CHECK(server.first.Find()->info().items_inserted == 6);
  server.Flood(one);
  server.Flood(other);
  CHECK(one->sequence + other->sequence == 8);
}

TEST_CASE("A budget of bytes admits as many blocks as fit, and gets their bytes back", "[unit]") {
  int64_t block = 0;
  {
    Budgeted server(1);
    Budgeted::Writer* const one = server.Add("one");
    server.Flood(one);
    server.budget->Close();  // Its thread gives the bytes of the block before back.
    block = server.budget->used();
  }
  Budgeted server(4 * block);
  Budgeted::Writer* const one = server.Add("one");
  server.Flood(one);
  CHECK(one->sequence == 5 + 4);
  CHECK(server.AwaitUsed(4 * block));
  Budgeted::Writer* const other = server.Add("other");
  server.Flood(other);
  CHECK(other->sequence == 1);
  // The stream that asked first may send the next block.
  server.first.SampleOne();
  REQUIRE(server.AwaitUsed(4 * block));
  server.Flood(one);
  server.Flood(other);
  CHECK(server.AwaitUsed(4 * block));
  server.first.store.Close();
  CHECK(server.AwaitUsed(0));
  CHECK(one->peer->closed().has_value());
  CHECK(other->peer->closed().has_value());
}

TEST_CASE("A block that waits for room may outlive its stream", "[unit]") {
  Stream stream(LimitedTable());
  stream.Open();
  stream.Insert(1, SimpleBlock(0, 6));
  const auto table = stream.Find();
  CHECK(table->info().items_inserted == 5);
  stream.peer->Close(absl::CancelledError("gone"));
  stream.handler.reset();
  const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(stream.table, 1, 1 << 20)));
  table->Sample(layout, 1, [](const absl::StatusOr<SampledBatch>& /*batch*/) {});
  CHECK(table->info().items_inserted == 6);
}

}  // namespace
}  // namespace waggle
