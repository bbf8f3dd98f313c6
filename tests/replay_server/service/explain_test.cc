#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "common/base/steady_now.h"
#include "common/net/channel.h"
#include "common/net/server.h"
#include "common/net/unary_call.h"
#include "common/replay/replay_client.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/service/replay_service.h"
#include "tests/replay_server/storage/full_disk.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

// A replay service over loopback, on a disk that can be full, with a table "t".
class ServiceOnDisk {
 public:
  explicit ServiceOnDisk(Durability durability) : table(SimpleTable("t")) {
    table.durability = durability;
    REQUIRE_OK(connection_->CreateTable(table, StopToken()));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 5), StopToken()));
    REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  }
  ~ServiceOnDisk() {
    disk.SetFull(false);
    store_.Close();
    journal_.Stop();
  }

  // Waits until the service explains the table with this cause, and returns the explanation.
  v1::TableExplanation ExplainedAs(const std::string& cause) {
    const absl::Time deadline = SteadyNow() + absl::Minutes(1);
    for (;;) {
      auto response = ValueOf(Call(&v1::ReplayService::Stub::Explain, v1::ExplainRequest()));
      REQUIRE(response.tables_size() == 1);
      if (response.tables(0).cause() == cause) {
        return response.tables(0);
      }
      INFO(response.tables(0).ShortDebugString());
      REQUIRE(SteadyNow() < deadline);
      std::this_thread::yield();
    }
  }

  absl::Status Checkpoint() { return Call(&v1::ReplayService::Stub::Checkpoint, v1::CheckpointRequest()).status(); }

  absl::Status Reconfigure() {
    v1::ReconfigureRequest request;
    *request.mutable_config() = ToProto(table);
    request.mutable_config()->set_max_items(77);
    request.set_config_generation(1);
    return Call(&v1::ReplayService::Stub::Reconfigure, request).status();
  }

  testing::FullDiskEnv disk;
  std::atomic<bool> copies_fail{false};
  TableConfig table;

 private:
  template <class Request, class Response>
  absl::StatusOr<Response> Call(StubMethod<v1::ReplayService::Stub, Request, Response> method, const Request& request) {
    return CallUnary(stub_.get(), method, request, absl::Minutes(1));
  }

  JournalOptions Options() {
    JournalOptions options;
    options.checkpoint_period = absl::InfiniteDuration();
    options.folder = "/data";
    options.keep = [this](Database* /*database*/) {
      return copies_fail ? absl::StatusOr<uint64_t>(absl::ResourceExhaustedError("no room for a copy"))
                         : absl::StatusOr<uint64_t>(7);
    };
    return options;
  }

  Journal journal_{ValueOf(Database::Open("/data/db", /*create=*/true, &disk)), SavedState(), Options()};
  ReplayStore store_{ReplayStoreOptions(), &journal_};
  Executor executor_{"test", 1, 100};
  ReplayService service_{&store_, &journal_, &executor_, &executor_, ReplayServiceOptions()};
  const std::unique_ptr<RpcServer> server_ = ValueOf(RpcServer::Start("127.0.0.1:0", {&service_}));
  const std::unique_ptr<v1::ReplayService::Stub> stub_ =
      v1::ReplayService::NewStub(NewChannel(server_->address(), "test"));
  const std::unique_ptr<ReplayConnection> connection_ = ValueOf(NewGrpcReplayConnection({server_->address()}));

 public:
  const std::unique_ptr<ReplayWriter> writer = ValueOf(connection_->NewWriter(SimpleWriter("w", SimpleTable("t"))));
};

TEST_CASE("Explain names a full disk, its folder, and the blocks that wait for it", "[grpc]") {
  ServiceOnDisk service(Durability::kLog);
  v1::TableExplanation explained = service.ExplainedAs("none");
  CHECK(explained.has_storage());
  CHECK(explained.storage().folder() == "/data");
  CHECK(explained.unacknowledged_blocks() == 0);
  service.disk.SetFull(true);
  REQUIRE_OK(service.writer->Append(SimpleBlock(5, 5), StopToken()));
  explained = service.ExplainedAs("disk_refuses");
  CHECK(explained.verdict() == v1::TableExplanation::VERDICT_WAITING);
  CHECK(absl::StrContains(explained.summary(), "writers wait for the disk of /data, which refuses writes: "));
  CHECK(absl::StrContains(explained.summary(), "No space left on device"));
  CHECK(absl::StrContains(explained.summary(), "; 1 block of its writers, with "));
  CHECK(absl::StartsWith(explained.who_could(), "more room in /data"));
  REQUIRE(explained.remedies_size() == 1);
  CHECK(explained.remedies(0).setting() == "room in /data");
  CHECK(absl::StrContains(explained.storage().write_problem(), "No space left on device"));
  CHECK(explained.unacknowledged_blocks() == 1);
  CHECK(explained.unacknowledged_bytes() > 0);
  // A change, even a dry run, is refused: it would wait for the disk too, with an unknown result.
  const absl::Status refused = service.Reconfigure();
  REQUIRE_CODE(refused, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(refused.message(), "No space left on device"));
  // Writing goes on without a restart.
  service.disk.SetFull(false);
  REQUIRE_OK(service.writer->Flush(absl::Minutes(1)));
  explained = service.ExplainedAs("none");
  CHECK(explained.storage().write_problem().empty());
  CHECK(explained.storage().write_problem_seconds() == 0);
  CHECK(explained.unacknowledged_blocks() == 0);
}

TEST_CASE("Explain names a checkpoint that the disk refuses, also without a log", "[grpc]") {
  ServiceOnDisk service(Durability::kCheckpoint);
  REQUIRE_OK(service.Checkpoint());
  service.disk.SetFull(true);
  REQUIRE_OK(service.writer->Append(SimpleBlock(5, 5), StopToken()));
  REQUIRE_OK(service.writer->Flush(absl::Minutes(1)));
  std::thread asks([&service] { service.Checkpoint().IgnoreError(); });
  const v1::TableExplanation explained = service.ExplainedAs("disk_refuses");
  CHECK(explained.storage().checkpoint_number() == 7);
  CHECK(explained.storage().has_checkpoint_ago());
  service.disk.SetFull(false);
  asks.join();
  service.ExplainedAs("none");
}

TEST_CASE("Explain names a checkpoint that was not kept until the next one is", "[grpc]") {
  ServiceOnDisk service(Durability::kCheckpoint);
  service.copies_fail = true;
  REQUIRE_CODE(service.Checkpoint(), absl::StatusCode::kResourceExhausted);
  const v1::TableExplanation explained = service.ExplainedAs("checkpoint_fails");
  CHECK(explained.verdict() == v1::TableExplanation::VERDICT_FLOWING);
  CHECK(absl::StartsWith(explained.summary(),
                         "the last checkpoint was not kept: no room for a copy; no checkpoint was kept since"));
  CHECK(!explained.storage().has_checkpoint_ago());
  service.copies_fail = false;
  REQUIRE_OK(service.Checkpoint());
  service.ExplainedAs("none");
}

}  // namespace
}  // namespace waggle
