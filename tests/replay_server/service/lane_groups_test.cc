// Busy streams on an executor of one thread. Its order of turns depends on their tasks alone, because it is held up
// until all streams are there.

#include "replay_server/service/lane_groups.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "common/net/array_spec_convert.h"
#include "common/replay/replay_convert.h"
#include "replay_server/service/insert_stream.h"
#include "replay_server/service/sample_stream.h"
#include "tests/support/catch.h"
#include "tests/support/recording_peer.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;

// A turn of a stream: a block applied, or a batch gathered.
struct Turn {
  char name;
  int64_t bytes;
};
using Turns = std::vector<Turn>;

// A peer that sends a message whenever it is asked, up to some number, and takes all messages at once.
template <class Incoming, class Outgoing>
class EagerPeer final : public StreamPeer<Outgoing> {
 public:
  EagerPeer(StreamHandler<Incoming, Outgoing>* handler, std::function<Incoming(int)> message, int messages)
      : handler_(handler), message_(std::move(message)), left_(messages) {}

  std::function<void(const Outgoing&)> on_sent;

  void Send(Outgoing message, std::function<void()> sent) override {
    if (on_sent != nullptr) {
      on_sent(message);
    }
    if (sent != nullptr) {
      sent();
    }
  }
  void RequestNext() override {
    if (left_ > 0) {
      --left_;
      handler_->OnMessage(message_(number_++));
    }
  }
  void Close(absl::Status status) override {
    left_ = 0;
    closed = std::move(status);
  }

  absl::Status closed;

 private:
  StreamHandler<Incoming, Outgoing>* const handler_;
  const std::function<Incoming(int)> message_;
  int left_;
  int number_ = 0;
};

struct Server {
  Server() {
    REQUIRE_OK(store.CreateTable(table));
    REQUIRE_OK(executor->Submit([started = started, release = release] {
      started.RequestStop();
      release.Wait();
    }));
    started.Wait();
  }
  ~Server() {
    release.RequestStop();
    executor.reset();
    budget->Close();
  }
  // Lets the executor run all tasks, and waits for their end.
  Turns Serve() {
    release.RequestStop();
    executor.reset();
    for (const auto& writer : writers) {
      REQUIRE_OK(writer->peer->closed);
    }
    return turns;
  }

  struct Writer {
    using Peer = EagerPeer<Message<v1::InsertRequest>, Message<v1::InsertResponse>>;
    std::unique_ptr<InsertStream> stream;
    std::shared_ptr<Peer> peer;
  };

  // Adds a writer that sends `blocks` blocks of `rows` rows.
  void AddWriter(char name, uint32_t rows, int blocks) {
    auto writer = std::make_unique<Writer>();
    InsertStreamOptions options;
    const Message<v1::InsertRequest> block = Block(blocks, rows);
    const auto bytes = static_cast<int64_t>(block.data.size() + block.header.ByteSizeLong());
    options.on_inserted = [this, name, bytes](uint64_t /*items*/) { turns.push_back({name, bytes}); };
    writer->stream = std::make_unique<InsertStream>(&store, executor.get(), options);
    writer->peer = std::make_shared<Writer::Peer>(
        writer->stream.get(),
        [this, rows, name](int number) { return number == 0 ? Open(name, table) : Block(number, rows); }, blocks + 1);
    writer->stream->OnOpen(writer->peer);
    writers.push_back(std::move(writer));
    writers.back()->peer->RequestNext();
  }
  static Message<v1::InsertRequest> Open(char name, const TableConfig& table) {
    Message<v1::InsertRequest> message;
    message.header.mutable_open()->set_writer_id(std::string(1, name));
    message.header.mutable_open()->add_tables(table.name);
    for (const ArraySpec& column : table.signature) {
      *message.header.mutable_open()->add_signature() = ToProto(column);
    }
    return message;
  }
  static Message<v1::InsertRequest> Block(int number, uint32_t rows) {
    InsertBlock block = SimpleBlock(uint64_t{rows} * static_cast<uint64_t>(std::max(0, number - 1)), rows);
    Message<v1::InsertRequest> message;
    *message.header.mutable_block() = ToProto(block);
    message.header.mutable_block()->set_sequence(static_cast<uint64_t>(number));
    message.data = std::move(block.data);
    return message;
  }

  // Adds a sampler that wants `batches` batches, as fast as possible, four at a time.
  void AddSampler(char name, uint32_t batch_size, int batches) {
    using Peer = EagerPeer<Message<v1::SampleRequest>, Message<v1::SampleResponse>>;
    SampleStreamOptions options;
    options.max_inline_bytes = 0;
    options.max_batches_in_flight = 4;
    sampler = std::make_unique<SampleStream>(
        &store,
        SampleResources{executor.get(), executor.get(), budget, std::make_shared<BatchMemory>(int64_t{1} << 20),
                        std::make_shared<SampleReaders>(SampleReadersOptions())},
        options);
    const auto peer = std::make_shared<Peer>(
        sampler.get(),
        [this, batch_size, batches](int /*number*/) {
          Message<v1::SampleRequest> message;
          message.header.mutable_open()->set_table(table.name);
          message.header.mutable_open()->set_batch_size(batch_size);
          message.header.set_credits(static_cast<uint32_t>(batches));
          return message;
        },
        1);
    peer->on_sent = [this, name](const Message<v1::SampleResponse>& message) {
      if (message.header.has_batch()) {
        turns.push_back({name, static_cast<int64_t>(message.data.size())});
      }
    };
    sampler->OnOpen(peer);
    peer->RequestNext();
  }

  void Fill(uint32_t items) {
    const auto session = ValueOf(store.OpenWriter("fill", {table.name}, table.signature));
    session->Insert(1, SimpleBlock(0, items), [](const absl::StatusOr<WriterSession::Result>& /*result*/) {});
  }

  const TableConfig table = SimpleTable("t");
  ReplayStore store{ReplayStoreOptions()};
  const StopToken started;
  const StopToken release;
  std::unique_ptr<Executor> executor = std::make_unique<Executor>("test", 1, 10'000);
  std::shared_ptr<MemoryAccount> budget = std::make_shared<MemoryAccount>(int64_t{1} << 30);
  Turns turns;  // Owned by the executor's thread until Serve returns.
  std::vector<std::unique_ptr<Writer>> writers;
  std::unique_ptr<SampleStream> sampler;
};

int CountOf(char name, const Turns& turns) {
  return static_cast<int>(
      std::count_if(turns.begin(), turns.end(), [name](const Turn& turn) { return turn.name == name; }));
}

// The turns until the first of the two streams is done, while both are busy.
Turns WhileBoth(Turns turns, char one, char other) {
  const auto last = [&turns](char name) {
    const auto found =
        std::find_if(turns.rbegin(), turns.rend(), [name](const Turn& turn) { return turn.name == name; });
    return turns.rend() - found;
  };
  turns.resize(static_cast<size_t>(std::min(last(one), last(other))));
  return turns;
}

TEST_CASE("A writer of single rows keeps its turns beside a writer of ten thousand rows a block", "[unit]") {
  Server server;
  server.AddWriter('L', 10'000, 20);
  server.AddWriter('s', 1, 4'000);
  const Turns all = server.Serve();
  REQUIRE(CountOf('L', all) == 20);
  REQUIRE(CountOf('s', all) == 4'000);
  // Between two large blocks the small writer gets turns of the same total cost, each of the eight blocks that it may
  // have in flight. A large block has 120 kB of rows, and items; eight small ones have less than 1 kB.
  const Turns both = WhileBoth(all, 'L', 's');
  int large = 0;
  int small = 0;
  for (const Turn& turn : both) {
    if (turn.name == 's') {
      ++small;
      REQUIRE(small <= 8 * 100);
    } else {
      REQUIRE((large == 0 || small >= 8 * 20));
      ++large;
      small = 0;
    }
  }
  CHECK(large >= 5);
}

TEST_CASE("A sampler has half of the bytes beside any number of writers", "[unit]") {
  Server server;
  server.Fill(1'000);
  for (const char name : std::string("abcd")) {
    server.AddWriter(name, 200, 400);
  }
  server.AddSampler('x', 500, 60);
  const Turns all = server.Serve();
  REQUIRE(CountOf('x', all) == 60);
  const Turns both = WhileBoth(all, 'x', 'a');
  double sampled = 0;
  double written = 0;
  for (const Turn& turn : both) {
    (turn.name == 'x' ? sampled : written) += static_cast<double>(turn.bytes);
    INFO(sampled << " bytes sampled, " << written << " written");
    // They may differ by a turn of each, and by the fixed cost of turns.
    constexpr double kTurns = 2 * (64 << 10);
    REQUIRE(sampled + kTurns >= 0.8 * written);
    REQUIRE(written + kTurns >= 0.8 * sampled);
  }
  CHECK(sampled > 1e6);
  // The writers have equal shares of the rest.
  for (const char name : std::string("bcd")) {
    CHECK(std::abs(CountOf(name, both) - CountOf('a', both)) <= 16);
  }
}

TEST_CASE("Inserts go on beside calls that take long", "[unit]") {
  const TableConfig table = SimpleTable("t");
  ReplayStore store{ReplayStoreOptions()};
  REQUIRE_OK(store.CreateTable(table));
  const StopToken release;
  Executor executor("test", 2, 100);
  Executor::Lane calls(&executor, LongLaneOf(executor));
  for (int i = 0; i < 5; ++i) {
    REQUIRE_OK(calls.Submit([release] { release.Wait(); }));
  }
  {
    InsertStream stream(&store, &executor, InsertStreamOptions());
    const auto peer = std::make_shared<testing::RecordingPeer<Message<v1::InsertResponse>>>();
    stream.OnOpen(peer);
    stream.OnMessage(Server::Open('w', table));
    stream.OnMessage(Server::Block(1, 10));
    CHECK(peer->AwaitMessages(2));
  }
  release.RequestStop();
}

TEST_CASE("Calls that take long have half of the threads, and at least one", "[unit]") {
  for (const int threads : {1, 2, 3, 8}) {
    const Executor executor("test", threads, 1);
    CHECK(LongLaneOf(executor).max_running == std::max(1, threads / 2));
  }
}

}  // namespace
}  // namespace waggle
