// Faults of connections and of clients while clients write and sample. What the clients have seen is checked against
// the server's promises.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "common/base/random.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/replay/replay_client.h"
#include "replay_server/service/replay_server.h"
#include "tests/integration/proxied_server.h"
#include "tests/integration/raw_stream.h"
#include "tests/integration/replay_crew.h"
#include "tests/support/delivery_history.h"
#include "tests/support/eventually.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/tcp_socket.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

using Server = ProxiedServer;

// Samples each item once, oldest first, and never holds a writer. All its items can be read.
TableConfig Archive(const std::string& name, Durability durability) {
  TableConfig config = Config(name, durability);
  config.sampler.kind = SelectorKind::kFifo;
  config.max_times_sampled = 1;
  return config;
}

// A writer to a queue and an archive of one durability, and a sampler of the queue, through the proxy.
class Crew {
 public:
  Crew(Server* server, Durability durability, const Keepalive& keepalive)
      : server_(server),
        queue_(Queue(absl::StrCat("queue_", Name(durability)), durability)),
        archive_(Archive(absl::StrCat("archive_", Name(durability)), durability)),
        connection_(ValueOf(NewGrpcReplayConnection({server->proxy()->address()}, nullptr, "", keepalive))) {
    for (const TableConfig& table : {queue_, archive_}) {
      REQUIRE_OK(server->direct()->CreateTable(table, StopToken()));
    }
    consumer_ = std::make_unique<Consumer>(connection_.get(), queue_);
    producer_ = std::make_unique<Producer>(connection_.get(), absl::StrCat("writer_", Name(durability)),
                                           std::vector<std::string>{queue_.name, archive_.name});
  }

  int64_t received() const { return consumer_->count(); }

  // Ends, and checks the deliveries after so many lost connections.
  void Check(int64_t losses) {
    INFO(queue_.name);
    REQUIRE_OK(producer_->Finish());
    consumer_->Finish();
    REQUIRE_OK(consumer_->status());
    CHECK(producer_->stats().items_inserted == static_cast<uint64_t>(2 * producer_->appended()));
    CHECK(producer_->stats().items_without_rows == 0);
    // The server must end the sampler's stream too: its last request may still be drawn.
    Eventually("the samplers' end", [this] { return !server_->IsSampled(queue_.name); });
    DeliveryHistory queue;
    queue.appended = queue.acknowledged = FirstNumbers(producer_->appended());
    queue.delivered = consumer_->delivered();
    queue.max_times_sampled = 1;
    queue.max_lost_deliveries = (losses + 1) * (kPrefetch + 1) * kBatch;
    queue.samples_per_insert = 1;
    queue.max_difference = static_cast<double>(kQueueItems);
    Add(queue_, &queue);
    CHECK(absl::StrJoin(Violations(queue), "; ") == "");
    DeliveryHistory archive;
    archive.appended = archive.acknowledged = queue.appended;
    Add(archive_, &archive);
    CHECK(absl::StrJoin(Violations(archive), "; ") == "");
    WARN(queue_.name << ": " << losses << " losses, " << queue.appended.size() << " items, " << queue.delivered.size()
                     << " delivered, " << queue.sampled - static_cast<int64_t>(queue.delivered.size())
                     << " lost on their way");
  }

 private:
  void Add(const TableConfig& table, DeliveryHistory* history) {
    const v1::TableInfo info = server_->Info(table.name);
    history->inserted = static_cast<int64_t>(info.items_inserted());
    history->sampled = static_cast<int64_t>(info.items_sampled());
    history->left = server_->Drain(table);
  }

  Server* const server_;
  const TableConfig queue_;
  const TableConfig archive_;
  const std::unique_ptr<ReplayConnection> connection_;
  std::unique_ptr<Consumer> consumer_;
  std::unique_ptr<Producer> producer_;
};

class Crews {
 public:
  explicit Crews(Server* server, const Keepalive& keepalive = kClientKeepalive) {
    for (const Durability durability : {Durability::kNone, Durability::kLog}) {
      crews_.push_back(std::make_unique<Crew>(server, durability, keepalive));
    }
  }

  // Waits until every crew has received so many more items.
  void AwaitProgress(int64_t items) {
    std::vector<int64_t> goals;
    for (const auto& crew : crews_) {
      goals.push_back(crew->received() + items);
    }
    Eventually("progress", [&] {
      for (size_t i = 0; i < crews_.size(); ++i) {
        if (crews_[i]->received() < goals[i]) {
          return false;
        }
      }
      return true;
    });
  }

  void Check(int64_t losses) {
    for (const auto& crew : crews_) {
      crew->Check(losses);
    }
  }

 private:
  std::vector<std::unique_ptr<Crew>> crews_;
};

// Each loss waits until all crews go on after the one before.
void LoseTheWayAgainAndAgain(int times, uint64_t seed) {
  INFO("seed " << seed);
  Rng rng(seed);
  Server server;
  TcpProxy* const proxy = server.proxy();
  Crews crews(&server);
  int64_t cuts = 0;
  for (int i = 0; i < times; ++i) {
    proxy->SetDelay(absl::Milliseconds(i % 2 == 0 ? 0 : rng.UniformInt(3)));
    crews.AwaitProgress(1 + static_cast<int64_t>(rng.UniformInt(100)));
    if (i % 3 == 0) {
      proxy->Reset();
    } else {
      // Longer than a message, so that most cuts are in the middle of one.
      const auto bytes = 1 + static_cast<int64_t>(rng.UniformInt(20'000));
      proxy->CutAfter(i % 3 == 1 ? TcpProxy::kToServer : TcpProxy::kToClient, bytes);
      ++cuts;
      Eventually("the cut", [&] { return proxy->cuts() == cuts; });
    }
  }
  crews.AwaitProgress(100);
  proxy->SetDelay(absl::ZeroDuration());
  crews.Check(times);
}

TEST_CASE("connections that are reset, cut in the middle of a message or slow lose and repeat nothing", "[grpc]") {
  LoseTheWayAgainAndAgain(9, 1);
}

TEST_CASE("connections that are lost over and over for long lose and repeat nothing", "[soak]") {
  for (uint64_t seed = 2; seed < 22; ++seed) {
    LoseTheWayAgainAndAgain(60, seed);
  }
}

constexpr int64_t kWidth = 10'000;

// A new table with 100 rows of 40 kB.
TableConfig FillLarge(Server* server, Durability durability = Durability::kNone) {
  TableConfig table = SimpleTable(absl::StrCat("large_", Name(durability)), kWidth);
  table.durability = durability;
  REQUIRE_OK(server->direct()->CreateTable(table, StopToken()));
  const auto writer = ValueOf(server->direct()->NewWriter(SimpleWriter(table.name, table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 100, kWidth), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  return table;
}

// A sampler that reads its first message only.
std::unique_ptr<RawStream> StuckSampler(const Server& server, const std::string& table, uint32_t batch_size,
                                        const std::string& id = "") {
  auto stuck = std::make_unique<RawStream>(server.address(), kSample, /*reads_on=*/false);
  v1::SampleRequest request;
  request.mutable_open()->set_table(table);
  request.mutable_open()->set_batch_size(batch_size);
  request.mutable_open()->set_sampler_id(id);
  request.set_credits(1'000);
  stuck->peer->Send(EncodeMessage(request, ByteSlices()));
  REQUIRE(stuck->seen->AwaitCount(1));
  return stuck;
}

// The bytes that the kernel may keep for one connection at both ends: 36 MB on some machines.
int64_t LargestSocketBuffers() {
  int64_t bytes = 0;
  for (const char* const end : {"tcp_rmem", "tcp_wmem"}) {
    std::ifstream file(absl::StrCat("/proc/sys/net/ipv4/", end));
    int64_t least = 0;
    int64_t usual = 0;
    int64_t most = 0;
    REQUIRE(file >> least >> usual >> most);
    bytes += most;
  }
  return bytes;
}

TEST_CASE("samplers that do not read cost bounded memory, and hold up no other client", "[grpc]") {
  constexpr int kStuck = 3;
  ReplayServiceOptions service;
  service.sample.max_bytes_in_flight = int64_t{1} << 20;
  service.max_sample_bytes = int64_t{16} << 20;
  Server server(std::move(service));
  Crews crews(&server);
  for (const Durability durability : {Durability::kNone, Durability::kLog}) {
    const TableConfig table = FillLarge(&server, durability);
    {
      std::vector<std::unique_ptr<RawStream>> stuck;
      for (int i = 0; i < kStuck; ++i) {
        stuck.push_back(StuckSampler(server, table.name, 8));  // Asks for 320 MB.
      }
      crews.AwaitProgress(200);
      const std::unique_ptr<ReplaySampler> sampler = ValueOf(server.direct()->NewSampler(SimpleSampler(table, 8)));
      for (int i = 0; i < 20; ++i) {
        REQUIRE_OK(sampler->Next(StopToken()));
      }
      // Their batches are in flight, or in the buffers of the kernel and of the transport.
      const auto drawn = static_cast<int64_t>(server.Info(table.name).items_sampled()) - 8 * (20 + 8);
      CHECK(drawn * kWidth * 4 < kStuck * (LargestSocketBuffers() + (int64_t{8} << 20)));
    }
    Eventually("no request that waits", [&] { return server.Info(table.name).samples_waiting() == 0; });
  }
  crews.Check(0);
}

TEST_CASE("samplers that read nothing and have all batch memory are named, and are ended", "[grpc]") {
  ReplayServiceOptions service;
  service.max_sample_bytes = int64_t{16} << 20;
  service.sample_readers.patience = absl::Seconds(4);
  service.sample_readers.shortage = absl::Seconds(3);
  Server server(std::move(service));
  const TableConfig table = FillLarge(&server);
  const auto explained = [&] {
    server.Tend();
    return server.Explain(table.name);
  };
  std::vector<std::unique_ptr<RawStream>> stuck;
  for (int i = 0; i < 24; ++i) {  // Eight have all the memory.
    stuck.push_back(StuckSampler(server, table.name, 50, absl::StrCat("stopped_", i)));
  }
  const std::unique_ptr<ReplaySampler> sampler = ValueOf(server.direct()->NewSampler(SimpleSampler(table, 8)));
  Eventually("the holder's name", [&] {
    const v1::TableExplanation explanation = explained();
    return explanation.verdict() == v1::TableExplanation::VERDICT_WAITING &&
           explanation.cause() == "sample_memory_full" && absl::StrContains(explanation.summary(), "stopped_");
  });
  Eventually("the end of samplers that do not read", [&] {
    server.Tend();
    return server.metrics().TakeSnapshot().counters.count("refused_not_reading") > 0;
  });
  REQUIRE_OK(sampler->Next(StopToken()));
}

TEST_CASE("slow connections are not given up", "[grpc]") {
  Server server;
  server.proxy()->SetDelay(absl::Milliseconds(100));
  Crews crews(&server);
  crews.AwaitProgress(300);
  // No client connects a second time.
  const int64_t connections = server.proxy()->connections();
  crews.AwaitProgress(300);
  CHECK(server.proxy()->connections() == connections);
  server.proxy()->SetDelay(absl::ZeroDuration());
  crews.Check(0);
}

TEST_CASE("a sampler on a slow line gets its batches, and holds up no other client", "[grpc]") {
  Server server;
  const TableConfig table = FillLarge(&server);
  server.proxy()->SetDelay(absl::Milliseconds(60));  // A megabyte a second.
  const auto far_away = ValueOf(NewGrpcReplayConnection({server.proxy()->address()}));
  const std::unique_ptr<ReplaySampler> slow = ValueOf(far_away->NewSampler(SimpleSampler(table, 16)));
  REQUIRE_OK(slow->Next(StopToken()));
  std::atomic<int> slow_batches{0};
  const StopToken enough;
  Thread reads("slow", [&] {
    while (slow->Next(enough).ok()) {
      ++slow_batches;
    }
  });
  const std::unique_ptr<ReplaySampler> fast = ValueOf(server.direct()->NewSampler(SimpleSampler(table, 16)));
  for (int i = 0; i < 300; ++i) {  // 190 MB.
    REQUIRE_OK(fast->Next(StopToken()));
  }
  CHECK(slow_batches < 300);
  const int so_far = slow_batches;
  Eventually("another batch on the slow line", [&] { return slow_batches > so_far; });
  enough.RequestStop();
}

TEST_CASE("clients that come and go leave nothing behind", "[grpc]") {
  Server server;
  const TableConfig table = SimpleTable("t");
  REQUIRE_OK(server.direct()->CreateTable(table, StopToken()));
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto channel = NewChannel(server.address(), "hostile");
  const auto before = open_files();
  for (int i = 0; i < 500; ++i) {
    const TcpSocket connection(server.address());
    CHECK(connection.connected());
    // Streams end in all ways: cancelled while they read or do not, never opened, refused.
    RawStream sampler(channel, kSample, i % 2 == 0);
    RawStream writer(channel, kInsert);
    v1::SampleRequest request;
    request.mutable_open()->set_table(i % 3 == 0 ? "nothing" : table.name);
    request.mutable_open()->set_batch_size(4);
    request.set_credits(2);
    sampler.peer->Send(EncodeMessage(request, ByteSlices()));
    if (i % 3 == 0) {
      CHECK_FALSE(sampler.seen->AwaitEnd().ok());
    }
  }
  Eventually("no request that waits", [&] { return server.Info(table.name).samples_waiting() == 0; });
  // gRPC keeps some files open.
  Eventually("the end of their connections", [&] { return open_files() <= before + 20; });
}

TEST_CASE("silent connections are given up, and clients go on", "[grpc]") {
  // The timeout is longer than a busy machine delays a process.
  constexpr Keepalive kSoon = {absl::Seconds(1), absl::Seconds(5)};
  Server server({}, kSoon);
  Crews crews(&server, kSoon);
  crews.AwaitProgress(100);
  server.proxy()->Silence();
  crews.AwaitProgress(100);
  crews.Check(1);
}

}  // namespace
}  // namespace waggle::testing
