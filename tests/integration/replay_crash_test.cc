// A replay server's process is killed again and again, at chosen places and at random, while clients go on. What they
// have seen is checked against its promises.

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/random.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/replay_client.h"
#include "tests/integration/crash_crew.h"
#include "tests/integration/crashing_server.h"
#include "tests/integration/replay_crew.h"
#include "tests/replay_server/storage/durable_replay.h"
#include "tests/support/delivery_history.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle::testing {
namespace {

// Samples each item three times, in no order.
TableConfig Thrice() {
  TableConfig config = Queue("thrice");
  config.sampler.kind = SelectorKind::kUniform;
  config.max_items = 3 * kQueueItems;  // Items that wait for their last sample too.
  config.max_times_sampled = 3;
  config.rate_limiter.samples_per_insert = 3;
  config.rate_limiter.max_difference = static_cast<double>(3 * kQueueItems);
  return config;
}

// Always full: the oldest leave.
constexpr int64_t kRingItems = 200;
TableConfig Ring() {
  TableConfig config = Config("ring", Durability::kLog);
  config.max_items = kRingItems;
  return config;
}

// The history of a queue with one consumer, without its contents.
DeliveryHistory QueueHistory(const TableConfig& table) {
  DeliveryHistory history;
  history.max_times_sampled = table.max_times_sampled;
  history.samples_per_insert = table.rate_limiter.samples_per_insert;
  history.min_difference = table.rate_limiter.MinDifference();
  history.max_difference = table.rate_limiter.MaxDifference();
  return history;
}

struct Drained {
  TableConfig table;
  const Consumer* consumer;
};

// Checks the queues and the archive in the folder after so many crashes, at the end.
void CheckLogged(const Saved& saved, const Producer& producer, const std::vector<Drained>& queues, int crashes) {
  const std::set<int64_t> appended = FirstNumbers(producer.appended());
  for (const auto& [table, consumer] : queues) {
    INFO(table.name);
    DeliveryHistory history = QueueHistory(table);
    history.appended = history.acknowledged = appended;
    history.delivered = consumer->delivered();
    // One more for the requests under way when the consumer ended.
    history.max_lost_deliveries = (crashes + 1) * (kPrefetch + 1) * kBatch;
    AddTable(saved.Find(table.name), &history);
    CHECK(absl::StrJoin(Violations(history), "; ") == "");
    WARN(table.name << ", " << crashes << " crashes: " << appended.size() << " logged items, "
                    << history.delivered.size() << " delivered, "
                    << history.sampled - static_cast<int64_t>(history.delivered.size()) << " lost on their way");
  }
  DeliveryHistory archive;
  archive.appended = archive.acknowledged = appended;
  AddTable(saved.Find("archive"), &archive);
  CHECK(absl::StrJoin(Violations(archive), "; ") == "");
}

// Checks the ring after a crash, or at the end. All items up to `acknowledged` were acknowledged.
void CheckRing(const SavedTable& table, int64_t appended, int64_t acknowledged) {
  DeliveryHistory ring;
  ring.appended = FirstNumbers(appended);
  ring.acknowledged = FirstNumbers(acknowledged);
  ring.max_items = kRingItems;
  ring.counts_all = false;
  AddTable(table, &ring);
  CHECK(absl::StrJoin(Violations(ring), "; ") == "");
  const auto items = static_cast<int64_t>(ring.left.size());
  CHECK(table.counters.inserted == (ring.left.empty() ? 0 : 1 + *std::max_element(ring.left.begin(), ring.left.end())));
  CHECK(table.counters.inserted - table.counters.removed == items);
}

constexpr const char* kPlaces[] = {
    "journal.before_commit", "journal.after_commit",   "journal.before_ack", "checkpoint.before_cut",
    "checkpoint.after_cut",  "checkpoint.before_link", "restore.middle",     "evict"};

// The places for rows that go to disk past a memory_limit.
constexpr const char* kTierPlaces[] = {"tier.before_write",    "tier.after_write",     "tier.before_read",
                                       "journal.after_commit", "checkpoint.after_cut", "restore.middle"};

// A failpoint that aborts at this place, at a random visit.
std::string AbortAt(const std::string& place, Rng* rng) {
  // Restoring happens once in a start, checkpoints twice a second, the others all the time.
  const uint64_t times = place == "restore.middle" ? 1 : absl::StartsWith(place, "checkpoint.") ? 2 : 20;
  return absl::StrCat(place, "=abort@", 1 + rng->UniformInt(times));
}

// A server with all kinds of tables, which is killed again and again, and its clients.
class Crashes {
 public:
  explicit Crashes(int64_t memory_limit)
      : memory_limit_(memory_limit), server_(folder_, {"--checkpoint-seconds", "0.5"}) {
    server_.Start();
    connection_ = ValueOf(NewGrpcReplayConnection({server_.address()}));
    stub_ = v1::ReplayService::NewStub(NewChannel(server_.address(), "observer"));
    for (TableConfig table :
         {Queue(), Thrice(), Ring(), Config("archive", Durability::kLog), Config("saved", Durability::kCheckpoint)}) {
      table.memory_limit = memory_limit;
      REQUIRE_OK(connection_->CreateTable(table, StopToken()));
      if (table.max_times_sampled > 0) {
        consumers_.push_back(std::make_unique<Consumer>(connection_.get(), table));
        queues_.push_back({table, consumers_.back().get()});
      }
    }
    const std::vector<std::string> tables = {"queue", "thrice", "ring", "archive"};
    producer_ = std::make_unique<Producer>(connection_.get(), "all", tables);
    block_items_ = static_cast<int64_t>(tables.size()) * kBlockRows;
    saved_ = std::make_unique<CheckpointedProducer>(connection_.get(), server_.address(),
                                                    std::vector<std::string>{"saved"}, &epoch_);
  }

  // Ends the server, if it has not ended yet, and checks its folder.
  void End(bool softly) {
    const int64_t acknowledged =
        static_cast<int64_t>(producer_->stats().items_inserted) / block_items_ * int64_t{kBlockRows};
    if (softly) {
      server_.Stop();
    } else {
      server_.Kill();
    }
    ++crashes_;
    ++epoch_;
    CheckLeft(acknowledged);
  }

  // Starts the server. Its tables must be within their limits at once.
  void Start(const std::string& failpoints) {
    server_.Start(failpoints);
    v1::DescribeResponse response;
    Eventually("a description", [&] {
      const auto described =
          CallUnary(stub_.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), absl::Seconds(1));
      response = described.value_or(v1::DescribeResponse());
      return server_.ended() || described.ok();
    });
    for (const v1::TableInfo& table : response.tables()) {
      INFO(table.config().name());
      if (table.config().name() == "ring") {
        CHECK(table.items() <= kRingItems);
      }
      for (const Drained& queue : queues_) {
        if (queue.table.name == table.config().name()) {
          CheckLimiter(queue.table, static_cast<int64_t>(table.items_inserted()),
                       static_cast<int64_t>(table.items_sampled()));
          ++limiters_checked_;
        }
      }
    }
  }

  CrashingServer* server() { return &server_; }

  // Ends everything. `restarts`: the number of servers without failpoints.
  void Finish(int restarts) {
    INFO(server_.Log());
    REQUIRE_OK(producer_->Finish());
    REQUIRE_OK(saved_->Finish());
    CHECK(producer_->stats().items_without_rows == 0);
    for (const auto& consumer : consumers_) {
      consumer->Finish();
      REQUIRE_OK(consumer->status());
    }
    server_.Stop();
    CHECK(limiters_checked_ >= static_cast<int>(queues_.size()) * restarts);
    const Saved saved(server_.data_dir(), memory_limit_ > 0);
    CheckLogged(saved, *producer_, queues_, crashes_);
    CheckRing(saved.Find("ring"), producer_->appended(), producer_->appended());
    DeliveryHistory checkpointed;
    checkpointed.appended = FirstNumbers(saved_->appended());
    checkpointed.acknowledged = saved_->durable();
    checkpointed.counts_all = false;
    AddTable(saved.Find("saved"), &checkpointed);
    CHECK(checkpointed.inserted == static_cast<int64_t>(checkpointed.left.size()));
    CHECK(absl::StrJoin(Violations(checkpointed), "; ") == "");
    WARN(checkpointed.appended.size() << " checkpointed items, " << checkpointed.acknowledged.size()
                                      << " known to be safe, " << checkpointed.left.size() << " there");
  }

 private:
  static void CheckLimiter(const TableConfig& table, int64_t inserted, int64_t sampled) {
    const double difference =
        static_cast<double>(inserted) * table.rate_limiter.samples_per_insert - static_cast<double>(sampled);
    CHECK(difference >= table.rate_limiter.MinDifference());
    CHECK(difference <= table.rate_limiter.MaxDifference());
  }

  // Checks a copy: the next server must find the folder unchanged.
  void CheckLeft(int64_t acknowledged) {
    const std::string copy = folder_.File("copy");
    std::filesystem::remove_all(copy);
    std::filesystem::create_directory(copy);
    CopyAfterCrash(server_.data_dir() + "/db", copy + "/db");
    const Saved saved(copy, memory_limit_ > 0);
    CheckRing(saved.Find("ring"), producer_->appended() + kBlockRows, acknowledged);
    const SavedTable& archive = saved.Find("archive");
    CHECK(archive.counters.inserted == static_cast<int64_t>(archive.items.size()));
    CHECK(archive.counters.inserted >= acknowledged);
    for (const Drained& queue : queues_) {
      INFO(queue.table.name);
      const SavedTable& table = saved.Find(queue.table.name);
      CheckLimiter(queue.table, table.counters.inserted, table.counters.sampled);
      CHECK(table.counters.inserted >= acknowledged);
      CHECK(table.counters.inserted - table.counters.removed == static_cast<int64_t>(table.items.size()));
      int64_t sampled = queue.table.max_times_sampled * table.counters.removed;
      for (const ItemRecord& item : table.items) {
        CHECK(int64_t{item.times_sampled} < queue.table.max_times_sampled);
        sampled += item.times_sampled;
      }
      CHECK(sampled == table.counters.sampled);
    }
  }

  const int64_t memory_limit_;
  const TemporaryFolder folder_;
  CrashingServer server_;
  std::atomic<int> epoch_{0};
  int crashes_ = 0;
  int limiters_checked_ = 0;
  int64_t block_items_ = 0;
  std::unique_ptr<ReplayConnection> connection_;
  std::unique_ptr<v1::ReplayService::Stub> stub_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::vector<Drained> queues_;
  std::unique_ptr<Producer> producer_;
  std::unique_ptr<CheckpointedProducer> saved_;
};

void CrashAgainAndAgain(int cycles, uint64_t seed, int64_t memory_limit = 0) {
  const absl::Span<const char* const> places = memory_limit > 0 ? absl::MakeConstSpan(kTierPlaces) : kPlaces;
  INFO("seed " << seed);
  Rng rng(seed);
  Crashes crashes(memory_limit);
  CrashingServer* const server = crashes.server();
  size_t next_place = rng.UniformInt(places.size());
  const StopToken pause;
  int lives = 0;  // Servers that are ended from outside.
  for (int cycle = 0; cycle < cycles; ++cycle) {
    // In every third cycle it is ended from outside, with and without a warning in turn. In the others it dies at each
    // place in turn.
    const std::string place = cycle % 3 == 0 ? "" : places[next_place++ % places.size()];
    crashes.End(/*softly=*/cycle % 6 == 1);
    crashes.Start(place.empty() ? "" : AbortAt(place, &rng));
    if (place.empty()) {
      ++lives;
      pause.WaitFor(absl::Milliseconds(50 + rng.UniformInt(400)));
    } else {
      Eventually("dying at " + place, [server] { return server->ended(); });
    }
    INFO(server->Log());
    REQUIRE(!absl::StrContains(server->Log(), " error "));
  }
  crashes.End(/*softly=*/false);
  crashes.Start("");
  crashes.Finish(lives + 1);
}

TEST_CASE("a server that is killed fifty times, anywhere, keeps what it promised", "[e2e]") {
  CrashAgainAndAgain(50, 1);
}

TEST_CASE("a server most of whose rows are on disk keeps what it promised when it is killed", "[e2e]") {
  CrashAgainAndAgain(18, 3, /*memory_limit=*/1000);
}

// Simulates a full disk: no file of the process may grow past so many bytes.
void LimitFiles(pid_t pid, rlim_t bytes) {
  rlimit limit;
  REQUIRE(prlimit(pid, RLIMIT_FSIZE, nullptr, &limit) == 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  REQUIRE(prlimit(pid, RLIMIT_FSIZE, &limit, nullptr) == 0);
}

TEST_CASE("a server with a full disk acknowledges no durable item, and goes on when there is room", "[e2e]") {
  const TemporaryFolder folder;
  CrashingServer server(folder, {"--checkpoint-seconds", "0.3"});
  server.Start();
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address()}));
  for (const TableConfig& table : {Queue(), Config("archive", Durability::kLog), Config("memory", Durability::kNone)}) {
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
  }
  const auto stub = v1::ReplayService::NewStub(NewChannel(server.address(), "observer"));
  const auto info = [&](const std::string& table) {
    const auto response =
        ValueOf(CallUnary(stub.get(), &v1::ReplayService::Stub::Describe, v1::DescribeRequest(), absl::Seconds(60)));
    const auto found = std::find_if(response.tables().begin(), response.tables().end(),
                                    [&table](const v1::TableInfo& each) { return each.config().name() == table; });
    REQUIRE(found != response.tables().end());
    return *found;
  };
  Consumer consumer(connection.get(), Queue());
  Producer both(connection.get(), "both", {"queue", "archive"});
  Producer other(connection.get(), "other", {"memory"});
  const auto await_more = [&](const std::string& table) {
    const uint64_t before = info(table).items_inserted();
    Eventually("more items in " + table, [&] { return info(table).items_inserted() > before + 100; });
  };
  for (int i = 0; i < 3; ++i) {
    await_more("archive");
    LimitFiles(server.pid(), 1);
    Eventually("a disk that is full", [&] {
      REQUIRE(!server.ended());
      return absl::StrContains(info("archive").blocked_because(), "cannot be written to disk");
    });
    await_more("memory");  // Meanwhile an acknowledgement on its way arrives.
    const uint64_t acknowledged = both.stats().items_inserted;
    await_more("memory");
    CHECK(both.stats().items_inserted == acknowledged);
    LimitFiles(server.pid(), RLIM_INFINITY);
    await_more("archive");
    CHECK(info("archive").blocked_because() == "");
  }
  // All acknowledged items are there after a crash.
  server.Kill();
  server.Start();
  INFO(server.Log());
  REQUIRE_OK(both.Finish());
  consumer.Finish();
  REQUIRE_OK(consumer.status());
  server.Stop();
  CheckLogged(Saved(server.data_dir()), both, {{Queue(), &consumer}}, 1);
}

// The process gets no more memory from the system.
void LimitMemory(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string line;
  while (!absl::StartsWith(line, "VmData:") && std::getline(status, line)) {
  }
  rlimit limit;
  REQUIRE(prlimit(pid, RLIMIT_DATA, nullptr, &limit) == 0);
  limit.rlim_cur = std::stoull(line.substr(line.find(':') + 1)) << 10;
  REQUIRE(prlimit(pid, RLIMIT_DATA, &limit, nullptr) == 0);
}

TEST_CASE("a server that ends for lack of memory has all that it acknowledged after a restart", "[e2e]") {
  const TemporaryFolder folder;
  CrashingServer server(folder, {});
  server.Start();
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address()}));
  REQUIRE_OK(connection->CreateTable(Config("archive", Durability::kLog), StopToken()));
  Producer producer(connection.get(), "writer", {"archive"});
  Eventually("acknowledged items", [&] { return producer.stats().items_inserted > 500; });
  // Its control group kills it, or the system refuses memory.
  if (GENERATE(true, false)) {
    server.Kill();
  } else {
    LimitMemory(server.pid());
    const ChildExit exit = server.Wait();
    INFO(exit.DebugString() << ": " << server.Log());
#if defined(__SANITIZE_ADDRESS__)  // It ends the process in its own way.
    CHECK(!exit.ok());
#else
    CHECK(exit.signal == SIGABRT);
#endif
  }
  const auto acknowledged = static_cast<int64_t>(producer.stats().items_inserted);
  const std::string copy = folder.File("copy");
  std::filesystem::create_directory(copy);
  CopyAfterCrash(server.data_dir() + "/db", copy + "/db");
  CHECK(Saved(copy).Find("archive").counters.inserted >= acknowledged);
  server.Start();
  INFO(server.Log());
  REQUIRE_OK(producer.Finish());
  server.Stop();
  CheckLogged(Saved(server.data_dir()), producer, {}, 1);
}

TEST_CASE("a server that is killed over and over for long keeps what it promised", "[soak]") {
  for (uint64_t seed = 2; seed < 22; ++seed) {
    CrashAgainAndAgain(100, seed);
  }
}

}  // namespace
}  // namespace waggle::testing
