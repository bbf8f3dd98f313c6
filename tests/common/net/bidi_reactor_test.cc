#include "common/net/bidi_reactor.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "common/base/reason.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/net/channel.h"
#include "tests/common/net/stream_service.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::Ack;
using testing::BlockRequest;
using testing::Open;
using testing::OpenStream;
using testing::Request;
using testing::Response;
using testing::Seen;
using testing::ServerHandler;
using testing::ServerPeer;
using testing::StartServer;
using testing::StreamService;

// Counts the handlers that are alive, so that a test can wait for their end.
class Alive {
 public:
  void Add(int amount) {
    MutexLock lock(&mutex_);
    count_ += amount;
    total_ += amount > 0 ? amount : 0;
    changed_.SignalAll();
  }
  bool AwaitNone(int after_total) {
    MutexLock lock(&mutex_);
    while (count_ != 0 || total_ < after_total) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(20))) {
        return false;
      }
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ = 0;
  int total_ = 0;
};

class Counted : public ServerHandler {
 public:
  explicit Counted(Alive* alive) : alive_(alive) { alive_->Add(1); }
  ~Counted() override { alive_->Add(-1); }

 private:
  Alive* const alive_;
};

// Never asks for a second message.
class StuckHandler final : public Counted {
 public:
  StuckHandler(Alive* alive, Seen* seen) : Counted(alive), seen_(seen) {}
  void OnOpen(std::shared_ptr<ServerPeer> peer) override { peer_ = std::move(peer); }
  void OnMessage(Request request) override { seen_->Add(request.header.block().sequence()); }
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  Seen* const seen_;
  std::shared_ptr<ServerPeer> peer_;
};

TEST_CASE("A handler that does not ask gets no more messages, and ends after a cancellation", "[grpc]") {
  Alive alive;
  Seen seen;
  StreamService service([&] { return std::make_unique<StuckHandler>(&alive, &seen); });
  const auto server = StartServer(&service);
  const auto channel = NewChannel(server->address(), "test");
  for (int i = 0; i < 50; ++i) {
    const OpenStream stream = Open(channel);
    stream.peer->Send(BlockRequest(1));
    stream.peer->Send(BlockRequest(2));
    REQUIRE(seen.AwaitCount(i + 1));
    stream.peer->Close(absl::CancelledError("enough"));
    REQUIRE(stream.seen->AwaitClosed());
    CHECK(stream.seen->status() == absl::CancelledError("enough"));
  }
  CHECK(alive.AwaitNone(50));
  for (const uint64_t sequence : seen.sequences()) {
    CHECK(sequence == 1);
  }
}

// The server's ends of the streams, in their order. Thread-safe.
class Peers {
 public:
  void Add(std::shared_ptr<ServerPeer> peer) {
    MutexLock lock(&mutex_);
    peers_.push_back(std::move(peer));
    changed_.SignalAll();
  }
  // Waits for stream `index`; null if it does not come.
  std::shared_ptr<ServerPeer> Await(size_t index) {
    MutexLock lock(&mutex_);
    while (peers_.size() <= index) {
      if (!changed_.WaitFor(&mutex_, absl::Seconds(20))) {
        return nullptr;
      }
    }
    return peers_[index];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::shared_ptr<ServerPeer>> peers_;
};

// Answers every message. Another thread asks for messages all the time.
class GreedyHandler final : public Counted {
 public:
  GreedyHandler(Alive* alive, Peers* peers, std::atomic<int>* overlaps)
      : Counted(alive), peers_(peers), overlaps_(overlaps) {}
  void OnOpen(std::shared_ptr<ServerPeer> peer) override {
    peer_ = peer;
    peers_->Add(std::move(peer));
  }
  void OnMessage(Request request) override {
    *overlaps_ += inside_.exchange(true) ? 1 : 0;
    std::this_thread::yield();
    peer_->Send(Ack(request.header.block().sequence()));
    inside_ = false;
  }
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  Peers* const peers_;
  std::atomic<int>* const overlaps_;
  std::atomic<bool> inside_{false};
  std::shared_ptr<ServerPeer> peer_;
};

TEST_CASE("Messages arrive in order and one at a time, from any thread that asks for them", "[grpc]") {
  Alive alive;
  Peers peers;
  std::atomic<int> overlaps{0};
  StreamService service([&] { return std::make_unique<GreedyHandler>(&alive, &peers, &overlaps); });
  const auto server = StartServer(&service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  const std::shared_ptr<ServerPeer> peer = peers.Await(0);
  REQUIRE(peer != nullptr);
  std::atomic<bool> stop{false};
  const Thread asker("asker", [peer, &stop] {
    while (!stop) {
      peer->RequestNext();
      std::this_thread::yield();
    }
  });
  const absl::Cleanup stop_asking = [&stop] { stop = true; };
  for (uint64_t i = 0; i < 2'000; ++i) {
    stream.peer->Send(BlockRequest(i));
  }
  stream.peer->Close(absl::OkStatus());
  REQUIRE(stream.seen->AwaitClosed());
  CHECK(stream.seen->status() == absl::OkStatus());
  const std::vector<uint64_t> sequences = stream.seen->sequences();
  REQUIRE(sequences.size() == 2'000);
  for (uint64_t i = 0; i < sequences.size(); ++i) {
    REQUIRE(sequences[i] == i);
  }
  CHECK(overlaps == 0);
  CHECK(alive.AwaitNone(1));
}

// Hands out its peer, and answers nothing.
class OpenHandler final : public Counted {
 public:
  OpenHandler(Alive* alive, Peers* peers) : Counted(alive), peers_(peers) {}
  void OnOpen(std::shared_ptr<ServerPeer> peer) override {
    peer_ = peer;
    peers_->Add(std::move(peer));
  }
  void OnMessage(Request /*request*/) override { peer_->RequestNext(); }
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  Peers* const peers_;
  std::shared_ptr<ServerPeer> peer_;
};

struct OpenHandlers {
  Alive alive;
  Peers peers;
  StreamService service{[this] { return std::make_unique<OpenHandler>(&alive, &peers); }};
};

TEST_CASE("Streams cancelled while the server reads all end, with the given reason", "[grpc]") {
  OpenHandlers handlers;
  const auto server = StartServer(&handlers.service);
  const auto channel = NewChannel(server->address(), "test");
  for (int i = 0; i < 50; ++i) {
    const OpenStream stream = Open(channel);
    for (uint64_t k = 0; k < static_cast<uint64_t>(i % 4); ++k) {
      stream.peer->Send(BlockRequest(k));
    }
    REQUIRE(handlers.peers.Await(i) != nullptr);
    stream.peer->Close(absl::AbortedError("changed its mind"));
    REQUIRE(stream.seen->AwaitClosed());
    REQUIRE(stream.seen->status() == absl::AbortedError("changed its mind"));
  }
  CHECK(handlers.alive.AwaitNone(50));
}

TEST_CASE("Calls of a peer whose stream has ended do nothing", "[grpc]") {
  OpenHandlers handlers;
  const auto server = StartServer(&handlers.service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  const std::shared_ptr<ServerPeer> peer = handlers.peers.Await(0);
  REQUIRE(peer != nullptr);
  stream.peer->Close(absl::CancelledError("enough"));
  REQUIRE(stream.seen->AwaitClosed());
  REQUIRE(handlers.alive.AwaitNone(1));
  const auto callback_alive = std::make_shared<int>(0);
  peer->Send(Ack(1), [callback_alive] {});
  peer->RequestNext();
  peer->Close(absl::OkStatus());
  CHECK(callback_alive.use_count() == 1);
  stream.peer->Send(BlockRequest(1), [callback_alive] {});
  stream.peer->RequestNext();
  stream.peer->Close(absl::OkStatus());
  CHECK(callback_alive.use_count() == 1);
  CHECK(stream.seen->sequences().empty());
}

TEST_CASE("Each message is reported as sent once the transport has it", "[grpc]") {
  OpenHandlers handlers;
  const auto server = StartServer(&handlers.service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"));
  const std::shared_ptr<ServerPeer> peer = handlers.peers.Await(0);
  REQUIRE(peer != nullptr);
  Seen sent;
  for (uint64_t i = 0; i < 100; ++i) {
    peer->Send(Ack(i), [&sent, i] { sent.Add(i); });
  }
  REQUIRE(sent.AwaitCount(100));
  REQUIRE(stream.seen->AwaitCount(100));
  std::vector<uint64_t> reported = sent.sequences();
  std::sort(reported.begin(), reported.end());  // Reports come from several threads.
  for (uint64_t i = 0; i < 100; ++i) {
    REQUIRE(reported[i] == i);
  }
  peer->Close(absl::OkStatus());
  REQUIRE(stream.seen->AwaitClosed());
  CHECK(handlers.alive.AwaitNone(1));
}

// Megabytes for a peer, more than the buffers on the way hold.
class Payload {
 public:
  static constexpr uint64_t kMessages = 64;

  void SendTo(ServerPeer* peer, Seen* sent = nullptr) {
    for (uint64_t i = 0; i < kMessages; ++i) {
      Response response = Ack(i);
      response.data.Append({bytes_->data(), bytes_->size(), bytes_});
      peer->Send(
          std::move(response), sent == nullptr ? std::function<void()>() : [sent, i] { sent->Add(i); });
    }
  }
  // Waits until no copy of the bytes is left; false if one stays.
  bool AwaitFreed() {
    bytes_.reset();
    return freed_.WaitFor(absl::Seconds(20));
  }

 private:
  const StopToken freed_;
  std::shared_ptr<std::string> bytes_{new std::string(1 << 20, 'x'), [freed = freed_](std::string* bytes) {
                                        delete bytes;
                                        freed.RequestStop();
                                      }};
};

TEST_CASE("Messages wait for a peer that does not read, and are dropped at its end", "[grpc]") {
  OpenHandlers handlers;
  const auto server = StartServer(&handlers.service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"), /*reads_on=*/false);
  const std::shared_ptr<ServerPeer> peer = handlers.peers.Await(0);
  REQUIRE(peer != nullptr);
  Payload payload;
  Seen sent;
  payload.SendTo(peer.get(), &sent);
  REQUIRE(stream.seen->AwaitCount(1));
  // Flow control lets through only as much as the buffers on the way hold.
  CHECK(sent.sequences().size() < Payload::kMessages);
  stream.peer->Close(absl::CancelledError("enough"));
  REQUIRE(stream.seen->AwaitClosed());
  REQUIRE(handlers.alive.AwaitNone(1));
  CHECK(sent.sequences().size() < Payload::kMessages);
  CHECK(payload.AwaitFreed());
}

TEST_CASE("An aborted stream ends although its peer does not read, and frees its messages", "[grpc]") {
  OpenHandlers handlers;
  const auto server = StartServer(&handlers.service);
  const OpenStream stream = Open(NewChannel(server->address(), "test"), /*reads_on=*/false);
  const std::shared_ptr<ServerPeer> peer = handlers.peers.Await(0);
  REQUIRE(peer != nullptr);
  Payload payload;
  payload.SendTo(peer.get());
  REQUIRE(stream.seen->AwaitCount(1));
  // Close alone does not end the stream: the transport still has a message for the peer.
  const bool ended_before = GENERATE(false, true);
  if (ended_before) {
    peer->Close(absl::InternalError("refused"));
  }
  peer->Abort(absl::UnavailableError("it does not read"));
  REQUIRE(handlers.alive.AwaitNone(1));
  CHECK(payload.AwaitFreed());
  peer->Abort(absl::UnavailableError("again"));
}

// Throws for every message, or for every answer.
class ThrowingHandler final : public Counted {
 public:
  ThrowingHandler(Alive* alive, bool over_answers) : Counted(alive), over_answers_(over_answers) {}
  void OnOpen(std::shared_ptr<ServerPeer> peer) override { peer_ = std::move(peer); }
  void OnMessage(Request /*request*/) override {
    if (!over_answers_) {
      throw std::runtime_error("a bug");
    }
    peer_->Send(Ack(1), [] { throw std::runtime_error("a bug"); });
  }
  void OnPeerDone() override { throw std::runtime_error("a bug"); }

 private:
  const bool over_answers_;
  std::shared_ptr<ServerPeer> peer_;
};

TEST_CASE("A handler that throws ends its stream with the reason", "[grpc]") {
  for (const bool over_answers : {false, true}) {
    Alive alive;
    StreamService service([&] { return std::make_unique<ThrowingHandler>(&alive, over_answers); });
    const auto server = StartServer(&service);
    const auto channel = NewChannel(server->address(), "test");
    const OpenStream stream = Open(channel);
    stream.peer->Send(BlockRequest(1));
    REQUIRE(stream.seen->AwaitClosed());
    CHECK(stream.seen->status().code() == absl::StatusCode::kInternal);
    const OpenStream done = Open(channel);
    done.peer->Close(absl::OkStatus());
    REQUIRE(done.seen->AwaitClosed());
    CHECK(done.seen->status().code() == absl::StatusCode::kInternal);
    CHECK(alive.AwaitNone(2));
  }
}

TEST_CASE("Close with OK delivers the queued messages; Close with an error does not", "[grpc]") {
  OpenHandlers handlers;
  const auto server = StartServer(&handlers.service);
  const auto channel = NewChannel(server->address(), "test");
  {
    const OpenStream stream = Open(channel);
    const std::shared_ptr<ServerPeer> peer = handlers.peers.Await(0);
    REQUIRE(peer != nullptr);
    for (uint64_t i = 0; i < 300; ++i) {
      peer->Send(Ack(i));
    }
    peer->Close(absl::OkStatus());
    peer->Close(absl::InternalError("the first one counts"));
    REQUIRE(stream.seen->AwaitClosed());
    CHECK(stream.seen->status() == absl::OkStatus());
    CHECK(stream.seen->sequences().size() == 300);
  }
  const OpenStream stream = Open(channel);
  const std::shared_ptr<ServerPeer> peer = handlers.peers.Await(1);
  REQUIRE(peer != nullptr);
  peer->Close(absl::FailedPreconditionError("the tables differ"));
  REQUIRE(stream.seen->AwaitClosed());
  CHECK(stream.seen->status() == absl::FailedPreconditionError("the tables differ"));
  CHECK(handlers.alive.AwaitNone(2));
}

TEST_CASE("The refusal callback gets the error of a stream before the peer does, and no other end", "[grpc]") {
  Alive alive;
  Peers peers;
  Mutex mutex;
  std::vector<absl::Status> refusals;
  StreamService service([&] { return std::make_unique<OpenHandler>(&alive, &peers); },
                        [&](const absl::Status& status) {
                          MutexLock lock(&mutex);
                          refusals.push_back(status);
                        },
                        /*max_header_bytes=*/100);
  const auto all = [&] {
    MutexLock lock(&mutex);
    return refusals;
  };
  const auto server = StartServer(&service);
  const auto channel = NewChannel(server->address(), "test");
  {
    const OpenStream refused = Open(channel);
    const std::shared_ptr<ServerPeer> peer = peers.Await(0);
    REQUIRE(peer != nullptr);
    peer->Close(WithReason("other_table", absl::FailedPreconditionError("the tables differ")));
    peer->Close(absl::InternalError("the first one counts"));
    REQUIRE(refused.seen->AwaitClosed());
    REQUIRE(all().size() == 1);
    CHECK(ReasonOf(all()[0]) == "other_table");
  }
  {
    const OpenStream garbled = Open(channel);
    Request request;
    request.header.mutable_open()->set_writer_id(std::string(101, 'w'));
    garbled.peer->Send(std::move(request));
    REQUIRE(garbled.seen->AwaitClosed());
    REQUIRE(all().size() == 2);
    CHECK(ReasonOf(all()[1]) == reasons::kMessageTooLarge);
  }
  const OpenStream done = Open(channel);
  done.peer->Close(absl::OkStatus());
  REQUIRE(done.seen->AwaitClosed());
  const OpenStream gone = Open(channel);
  REQUIRE(peers.Await(3) != nullptr);
  gone.peer->Close(absl::CancelledError("enough"));
  REQUIRE(gone.seen->AwaitClosed());
  CHECK(alive.AwaitNone(4));
  CHECK(all().size() == 2);
}

}  // namespace
}  // namespace waggle
