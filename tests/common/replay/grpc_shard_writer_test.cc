#include "common/replay/grpc_shard_writer.h"

#include <atomic>
#include <memory>
#include <string>

#include "common/base/reason.h"
#include "tests/common/net/stream_service.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::ServerFixture;
using testing::SimpleBlock;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

constexpr absl::Duration kPatience = absl::Seconds(30);

TEST_CASE("Blocks that were appended while the server was away are inserted once it is there", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  server.Stop();
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 30; ++row) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 1), StopToken()));
  }
  REQUIRE_CODE(writer->Flush(absl::Milliseconds(20)), absl::StatusCode::kDeadlineExceeded);
  CHECK(writer->stats().items_inserted == 0);
  server.Start();
  REQUIRE_OK(writer->Flush(kPatience));
  CHECK(writer->stats().items_inserted == 30);
}

TEST_CASE("The id of a closed writer is free at once", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  for (uint64_t inserted = 0; inserted < 20; ++inserted) {
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 1), StopToken()));
    REQUIRE_OK(writer->Flush(kPatience));
    CHECK(writer->stats().items_inserted == 1);
  }
}

TEST_CASE("Errors that no attempt can mend surface from Append and Flush", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  SECTION("rows of the wrong size") {
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 3, 7), StopToken()));
    REQUIRE_CODE(writer->Flush(kPatience), absl::StatusCode::kInvalidArgument);
    REQUIRE_CODE(writer->Append(SimpleBlock(0, 3), StopToken()), absl::StatusCode::kInvalidArgument);
    CHECK(ReasonOf(writer->Flush(kPatience)) == "bad_chunk");
  }
  SECTION("a signature that is not the table's") {
    ReplayWriterOptions options = SimpleWriter("w", table);
    options.signature[0].dtype = DType::kFloat64;
    const auto writer = ValueOf(connection->NewWriter(options));
    const absl::Status status = writer->Append(SimpleBlock(0, 3), StopToken());
    CHECK((status.ok() || absl::IsFailedPrecondition(status)));
    REQUIRE_CODE(writer->Flush(kPatience), absl::StatusCode::kFailedPrecondition);
  }
  SECTION("a block that is too large to be sent") {
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_CODE(writer->Append(SimpleBlock(0, 1'000, 20'000), StopToken()), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("A writer's options that can never work are refused", "[unit]") {
  const auto connection = ValueOf(NewGrpcReplayConnection({"127.0.0.1:1"}));
  const TableConfig table = SimpleTable("replay");
  ReplayWriterOptions options = SimpleWriter("", table);
  REQUIRE_CODE(connection->NewWriter(options), absl::StatusCode::kInvalidArgument);
  options = SimpleWriter("w", table);
  options.tables.clear();
  REQUIRE_CODE(connection->NewWriter(options), absl::StatusCode::kInvalidArgument);
  options = SimpleWriter("w", table);
  options.signature.clear();
  REQUIRE_CODE(connection->NewWriter(options), absl::StatusCode::kInvalidArgument);
  options = SimpleWriter("w", table);
  options.max_unacknowledged_blocks = 0;
  REQUIRE_CODE(connection->NewWriter(options), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A second writer with the same id gets an error", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto first = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 10; ++row) {
    REQUIRE_OK(first->Append(SimpleBlock(row, 1), StopToken()));
  }
  REQUIRE_OK(first->Flush(kPatience));
  const auto second = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  const absl::Status appended = second->Append(SimpleBlock(0, 1), StopToken());
  CHECK((appended.ok() || absl::IsFailedPrecondition(appended)));
  REQUIRE_CODE(second->Flush(kPatience), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A writer that repeats an earlier one's blocks adds those that are missing", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  ReplayWriterOptions options = SimpleWriter("import", table);
  options.repeats = 7;
  const auto first = ValueOf(connection->NewWriter(options));
  for (uint64_t row = 0; row < 6; ++row) {
    REQUIRE_OK(first->Append(SimpleBlock(row, 1), StopToken()));
  }
  REQUIRE_OK(first->Flush(kPatience));
  const auto second = ValueOf(connection->NewWriter(options));
  for (uint64_t row = 0; row < 10; ++row) {
    REQUIRE_OK(second->Append(SimpleBlock(row, 1), StopToken()));
  }
  REQUIRE_OK(second->Flush(kPatience));
  CHECK(second->stats().items_inserted == 10);
}

// Acknowledges given numbers, when the stream is opened and for every block.
class LyingHandler final : public testing::ServerHandler {
 public:
  LyingHandler(uint64_t opened, uint64_t acknowledged) : opened_(opened), acknowledged_(acknowledged) {}
  void OnOpen(std::shared_ptr<testing::ServerPeer> peer) override { peer_ = std::move(peer); }
  void OnMessage(testing::Request request) override {
    testing::Response response = testing::Ack(acknowledged_);
    if (request.header.has_open()) {
      response.header.mutable_opened()->set_applied_sequence(opened_);
    }
    peer_->Send(std::move(response));
    peer_->RequestNext();
  }
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  const uint64_t opened_;
  const uint64_t acknowledged_;
  std::shared_ptr<testing::ServerPeer> peer_;
};

TEST_CASE("A server that acknowledges blocks that were never sent is refused", "[grpc]") {
  struct Lie {
    uint64_t opened;
    uint64_t acknowledged;
    absl::StatusCode code;
  };
  constexpr uint64_t kMax = ~uint64_t{0};
  for (const Lie& lie :
       {Lie{kMax, 1, absl::StatusCode::kFailedPrecondition}, Lie{kMax - 1, 1, absl::StatusCode::kFailedPrecondition},
        Lie{0, kMax, absl::StatusCode::kInternal}, Lie{0, kMax - 1, absl::StatusCode::kInternal},
        Lie{0, 7, absl::StatusCode::kInternal}}) {
    CAPTURE(lie.opened, lie.acknowledged);
    testing::StreamService service([&lie] { return std::make_unique<LyingHandler>(lie.opened, lie.acknowledged); });
    const auto server = testing::StartServer(&service);
    const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", SimpleTable("replay"))));
    const absl::Status appended = writer->Append(SimpleBlock(0, 1), StopToken());
    CHECK((appended.ok() || appended.code() == lie.code));
    REQUIRE_CODE(writer->Flush(kPatience), lie.code);
    CHECK(writer->stats().items_inserted == 0);
  }
}

// Ends its first stream with the first block, and answers the next stream with that block's counts.
class LostAnswerHandler final : public testing::ServerHandler {
 public:
  explicit LostAnswerHandler(bool first) : first_(first) {}
  void OnOpen(std::shared_ptr<testing::ServerPeer> peer) override { peer_ = std::move(peer); }
  void OnMessage(testing::Request request) override {
    if (!request.header.has_open()) {
      peer_->Close(absl::UnavailableError("away"));
      return;
    }
    testing::Response response;
    v1::InsertOpened* opened = response.header.mutable_opened();
    if (!first_) {
      opened->set_applied_sequence(1);
      opened->set_items_inserted(3);
      opened->set_items_without_rows(2);
    }
    peer_->Send(std::move(response));
    peer_->RequestNext();
  }
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  const bool first_;
  std::shared_ptr<testing::ServerPeer> peer_;
};

TEST_CASE("Blocks that a server applied before its answer was lost have the server's counts", "[grpc]") {
  std::atomic<int> streams{0};
  testing::StreamService service([&streams] { return std::make_unique<LostAnswerHandler>(streams++ == 0); });
  const auto server = testing::StartServer(&service);
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", SimpleTable("replay"))));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 5), StopToken()));
  REQUIRE_OK(writer->Flush(kPatience));
  CHECK(writer->stats().items_inserted == 3);
  CHECK(writer->stats().items_without_rows == 2);
}

// Applies two blocks of five items on its first stream, and is away at the third. Later it knows only the first block.
class GoneBackHandler final : public testing::ServerHandler {
 public:
  explicit GoneBackHandler(bool first) : first_(first) {}
  void OnOpen(std::shared_ptr<testing::ServerPeer> peer) override { peer_ = std::move(peer); }
  void OnMessage(testing::Request request) override {
    testing::Response response;
    if (request.header.has_open()) {
      applied_ = first_ ? 0 : 1;
      response.header.mutable_opened()->set_applied_sequence(applied_);
      response.header.mutable_opened()->set_items_inserted(5 * applied_);
    } else if (first_ && applied_ == 2) {
      peer_->Close(absl::UnavailableError("away"));
      return;
    } else {
      ++applied_;
      response.header.mutable_ack()->set_applied_sequence(applied_);
      response.header.mutable_ack()->set_items_inserted(5 * applied_);
    }
    peer_->Send(std::move(response));
    peer_->RequestNext();
  }
  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  const bool first_;
  uint64_t applied_ = 0;
  std::shared_ptr<testing::ServerPeer> peer_;
};

TEST_CASE("Items of a server that lost its newest blocks are counted once", "[grpc]") {
  std::atomic<int> streams{0};
  testing::StreamService service([&streams] { return std::make_unique<GoneBackHandler>(streams++ == 0); });
  const auto server = testing::StartServer(&service);
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", SimpleTable("replay"))));
  for (uint64_t block = 0; block < 3; ++block) {
    REQUIRE_OK(writer->Append(SimpleBlock(5 * block, 5), StopToken()));
    REQUIRE_OK(writer->Flush(kPatience));
  }
  CHECK(writer->stats().items_inserted == 15);
}

TEST_CASE("A writer waits for a missing table", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("late");
  const auto writing = server.Connect();
  const auto writer = ValueOf(writing->NewWriter(SimpleWriter("w", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 5), StopToken()));
  REQUIRE_CODE(writer->Flush(absl::Milliseconds(50)), absl::StatusCode::kDeadlineExceeded);
  const auto creating = server.Connect();
  REQUIRE_OK(creating->CreateTable(table, StopToken()));
  REQUIRE_OK(writer->Flush(kPatience));
  CHECK(writer->stats().items_inserted == 5);
}

}  // namespace
}  // namespace waggle
