#include "replay_server/sample_stream.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/clients/replay_convert.h"
#include "common/rpc/channel.h"
#include "tests/support/catch.h"
#include "tests/support/recording_peer.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;
using Peer = testing::RecordingPeer<Message<v1::SampleResponse>>;

// A handler over a store with `items` items, without a network.
struct Stream {
  explicit Stream(const TableConfig& config, uint32_t items, SampleStreamOptions options = {}, bool take_at_once = true)
      : table(config), peer(std::make_shared<Peer>(take_at_once)) {
    REQUIRE_OK(store.CreateTable(table));
    if (items > 0) {
      Insert(items);
    }
    handler = std::make_unique<SampleStream>(&store, &executor, std::move(options));
    handler->OnOpen(peer);
  }

  // As the transport does: drops what was not sent.
  ~Stream() { peer->Close(absl::CancelledError("the test is over")); }

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

  Table::Info Info() { return ValueOf(store.FindTable(table.name))->info(); }

  const TableConfig table;
  ReplayStore store{ReplayStoreOptions()};
  Executor executor{"test", 2, 1'000};
  const std::shared_ptr<Peer> peer;
  std::unique_ptr<SampleStream> handler;
};

TEST_CASE("Opening is answered by the layout, and every credit by a batch", "[unit]") {
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

TEST_CASE("Only as much is sampled as may be in flight until the peer has read", "[unit]") {
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

TEST_CASE("One batch is in flight even where it is larger than the bytes that may be", "[unit]") {
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
  CHECK(stream.peer->closed()->code() == absl::StatusCode::kInvalidArgument);
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

TEST_CASE("The end of a stream cancels what waits", "[unit]") {
  for (const int64_t max_inline_bytes : {int64_t{0}, int64_t{1} << 20}) {
    SampleStreamOptions options;
    options.max_inline_bytes = max_inline_bytes;
    Stream stream(SimpleTable("t"), 0, options);
    stream.Send("t", 4, 8);
    stream.handler.reset();
    // What the executor had still to ask for is not asked for, or cancelled at once.
    const StopToken drained;
    for (int i = 0; i < 2; ++i) {
      REQUIRE_OK(stream.executor.Submit([] {}));
    }
    REQUIRE_OK(stream.executor.Submit([drained] { drained.RequestStop(); }));
    REQUIRE(drained.WaitFor(absl::Seconds(10)));
    if (max_inline_bytes > 0) {
      CHECK(stream.Info().samples_waiting == 0);
    }
    stream.Insert(10);
    CHECK(stream.peer->messages().size() == 1);
  }
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
