// No source of its own: a replay server's process is killed again and again, at every place that matters and at random,
// while clients go on; what they have seen is checked against what it promised.

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/random.h"
#include "common/clients/replay_client.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_call.h"
#include "replay_server/storage/data_folder.h"
#include "replay_server/storage/disk_rows.h"
#include "replay_server/table/chunk_tiers.h"
#include "replay_server/table/pinned_rows.h"
#include "tests/integration/crashing_server.h"
#include "tests/integration/replay_crew.h"
#include "tests/support/delivery_history.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle::testing {
namespace {

// Writes and waits for each block, so that it is known which server has acknowledged it.
class CheckpointedProducer {
 public:
  CheckpointedProducer(ReplayConnection* connection, std::string address, const std::atomic<int>* epoch)
      : epoch_(epoch), stub_(v1::ReplayService::NewStub(NewChannel(address, "checkpoints"))) {
    ReplayWriterOptions options;
    options.writer_id = "saved";
    options.tables = {"saved"};
    options.signature = Queue().signature;
    writer_ = ValueOf(connection->NewWriter(options));
    thread_ = std::thread([this] { Run(); });
  }
  ~CheckpointedProducer() {
    give_up_.RequestStop();
    Finish().IgnoreError();
  }

  absl::Status Finish() {
    stop_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
    return status_;
  }
  // After it has finished.
  int64_t appended() const { return appended_; }
  const std::set<int64_t>& durable() const { return durable_; }
  int checkpoints() const { return checkpoints_; }

 private:
  void Run() {
    int known = -1;
    std::set<int64_t> acknowledged;  // By the server of epoch `known`.
    for (int i = 0; !stop_ && status_.ok(); ++i) {
      const int epoch = *epoch_;
      if (epoch != known) {
        known = epoch;
        acknowledged.clear();
      }
      // Of one row each: after a crash some of the rows before are lost, as they may be.
      status_ = writer_->Append(Block(static_cast<uint64_t>(appended_), 1, 1), give_up_);
      appended_ += kBlockRows;
      if (status_.ok()) {
        status_ = FlushUnless(give_up_, writer_.get());
      }
      if (*epoch_ != epoch) {
        continue;
      }
      for (int64_t id = appended_ - kBlockRows; id < appended_; ++id) {
        acknowledged.insert(id);
      }
      if (i % 8 == 0) {
        v1::CheckpointResponse response;
        const absl::Status status = CallUnary(absl::Seconds(20), give_up_, [&](grpc::ClientContext* context) {
          return stub_->Checkpoint(context, v1::CheckpointRequest(), &response);
        });
        if (status.ok() && *epoch_ == epoch) {
          durable_.insert(acknowledged.begin(), acknowledged.end());
          ++checkpoints_;
        }
      }
    }
  }

  const std::atomic<int>* const epoch_;
  const StopToken give_up_;
  const std::unique_ptr<v1::ReplayService::Stub> stub_;
  std::unique_ptr<ReplayWriter> writer_;
  std::atomic<bool> stop_{false};
  int64_t appended_ = 0;
  std::set<int64_t> durable_;
  int checkpoints_ = 0;
  absl::Status status_;
  std::thread thread_;
};

// The last row of an item, after a look at all of its rows.
int64_t IdOf(const RowLayout& layout, const ItemRecord& item) {
  PinnedRows pinned;
  REQUIRE_OK(pinned.Pin(Window{item.chunks, item.offset, item.rows, item.context}));
  int64_t last = -1;
  size_t row = item.offset;
  size_t chunk = 0;
  for (uint32_t i = 0; i < item.rows; ++i, ++row) {
    while (row >= item.chunks[chunk]->rows()) {
      row -= item.chunks[chunk]->rows();
      ++chunk;
    }
    int64_t id = 0;
    std::memcpy(&id, item.chunks[chunk]->Row(layout, 0, row), sizeof(id));
    REQUIRE((last == -1 || id == last + 1));
    REQUIRE(absl::string_view(item.chunks[chunk]->Row(layout, 1, row), 64) ==
            std::string(64, static_cast<char>(id & 0xff)));
    last = id;
  }
  return last;
}

// What the folder has of a table, in the end.
void AddTable(const SavedState& state, const std::string& name, DeliveryHistory* history) {
  const auto found = std::find_if(state.tables.begin(), state.tables.end(),
                                  [&name](const SavedTable& table) { return table.created.name == name; });
  REQUIRE(found != state.tables.end());
  const RowLayout layout(found->created.signature);
  for (const ItemRecord& item : found->items) {
    history->left.push_back(IdOf(layout, item));
  }
  history->inserted = found->counters.inserted;
  history->sampled = found->counters.sampled;
}

// What the folder has of the queue and the archive after so many crashes, when all has ended.
void CheckLogged(const SavedState& state, const Producer& producer, const Consumer& consumer, int crashes) {
  DeliveryHistory queue;
  queue.appended = queue.acknowledged = FirstNumbers(producer.appended());
  queue.delivered = consumer.delivered();
  queue.max_times_sampled = 1;
  // The last ones: of the requests under way when the consumer ended.
  queue.max_lost_deliveries = (crashes + 1) * (kPrefetch + 1) * kBatch;
  queue.samples_per_insert = 1;
  queue.max_difference = static_cast<double>(kQueueItems);
  AddTable(state, "queue", &queue);
  CHECK(absl::StrJoin(Violations(queue), "; ") == "");
  DeliveryHistory archive;
  archive.appended = archive.acknowledged = queue.appended;
  AddTable(state, "archive", &archive);
  CHECK(absl::StrJoin(Violations(archive), "; ") == "");
  WARN(crashes << " crashes: " << queue.appended.size() << " logged items, " << queue.delivered.size() << " delivered, "
               << queue.sampled - static_cast<int64_t>(queue.delivered.size()) << " lost on their way");
}

// What the server has left in its folder; rows past a memory_limit are read from there.
class Saved {
 public:
  explicit Saved(const CrashingServer& server, int64_t memory_limit = 0) {
    DataFolderOptions options;
    options.path = server.data_dir();
    opened_ = ValueOf(DataFolder::Open(options));
    tiers_ = std::make_unique<ChunkTiers>(std::make_shared<DiskRows>(
        std::shared_ptr<Database>(std::move(opened_.database)), opened_.folder->cold_path()));
    for (const SavedTable& table : opened_.state.tables) {
      REQUIRE((table.tier != nullptr) == (memory_limit > 0));
      if (table.tier != nullptr) {
        tiers_->Attach(table.tier);
      }
    }
  }

  const SavedState& state() const { return opened_.state; }

 private:
  DataFolder::Opened opened_;
  std::unique_ptr<ChunkTiers> tiers_;
};

constexpr const char* kPlaces[] = {
    "journal.before_commit", "journal.after_commit",   "journal.before_ack", "checkpoint.before_cut",
    "checkpoint.after_cut",  "checkpoint.before_link", "restore.middle",     "evict"};

// Those that matter where rows go to disk past a memory_limit.
constexpr const char* kTierPlaces[] = {"tier.before_write",    "tier.after_write",     "tier.before_read",
                                       "journal.after_commit", "checkpoint.after_cut", "restore.middle"};

// A place to die at, the how-manieth time.
std::string AbortAt(const std::string& place, Rng* rng) {
  // Restoring happens once a start, checkpoints twice a second, the others all the time.
  const uint64_t times = place == "restore.middle" ? 1 : absl::StartsWith(place, "checkpoint.") ? 2 : 20;
  return absl::StrCat(place, "=abort@", 1 + rng->UniformInt(times));
}

void CrashAgainAndAgain(int cycles, uint64_t seed, int64_t memory_limit = 0) {
  const absl::Span<const char* const> places = memory_limit > 0 ? absl::MakeConstSpan(kTierPlaces) : kPlaces;
  INFO("seed " << seed);
  Rng rng(seed);
  const TemporaryFolder folder;
  CrashingServer server(folder, {"--checkpoint-seconds", "0.5"});
  server.Start();
  std::atomic<int> epoch{0};
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address()}));
  for (TableConfig table : {Queue(), Config("archive", Durability::kLog), Config("saved", Durability::kCheckpoint)}) {
    table.memory_limit = memory_limit;
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
  }
  TableConfig consumed = Queue();
  consumed.memory_limit = memory_limit;
  Consumer consumer(connection.get(), consumed);
  Producer both(connection.get(), "both", {"queue", "archive"});
  CheckpointedProducer saved(connection.get(), server.address(), &epoch);
  int crashes = 0;
  size_t next_place = rng.UniformInt(places.size());
  const StopToken pause;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    // In every third cycle it is killed from outside, at any time; in the others it dies at each place in its turn,
    // however long this machine takes to come there.
    const std::string place = cycle % 3 == 0 ? "" : places[next_place++ % places.size()];
    server.Kill();
    ++crashes;
    ++epoch;
    server.Start(place.empty() ? "" : AbortAt(place, &rng));
    if (place.empty()) {
      pause.WaitFor(absl::Milliseconds(50 + rng.UniformInt(400)));
    } else {
      Eventually("dying at " + place, [&server] { return server.ended(); });
    }
    INFO(server.Log());
    REQUIRE(!absl::StrContains(server.Log(), " error "));
  }
  server.Kill();
  ++crashes;
  ++epoch;
  server.Start();
  INFO(server.Log());
  REQUIRE_OK(both.Finish());
  REQUIRE_OK(saved.Finish());
  CHECK(both.stats().items_without_rows == 0);
  consumer.Finish();
  REQUIRE_OK(consumer.status());
  server.Stop();

  const Saved saved_tables(server, memory_limit);
  const SavedState& state = saved_tables.state();
  CheckLogged(state, both, consumer, crashes);
  DeliveryHistory checkpointed;
  checkpointed.appended = FirstNumbers(saved.appended());
  checkpointed.acknowledged = saved.durable();
  checkpointed.counts_all = false;
  AddTable(state, "saved", &checkpointed);
  CHECK(checkpointed.inserted == static_cast<int64_t>(checkpointed.left.size()));
  CHECK(absl::StrJoin(Violations(checkpointed), "; ") == "");
  WARN(checkpointed.appended.size() << " checkpointed items, " << checkpointed.acknowledged.size()
                                    << " known to be safe, " << checkpointed.left.size() << " there");
}

TEST_CASE("a server that is killed fifty times, anywhere, keeps what it promised", "[e2e]") {
  CrashAgainAndAgain(50, 1);
}

TEST_CASE("a server most of whose rows are on disk keeps what it promised when it is killed", "[e2e]") {
  CrashAgainAndAgain(18, 3, /*memory_limit=*/1000);
}

// No file of the process may grow past so many bytes: to it, its disk is full.
void LimitFiles(pid_t pid, rlim_t bytes) {
  rlimit limit;
  REQUIRE(prlimit(pid, RLIMIT_FSIZE, nullptr, &limit) == 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  REQUIRE(prlimit(pid, RLIMIT_FSIZE, &limit, nullptr) == 0);
}

TEST_CASE("a server whose disk is full acknowledges nothing that is to last, and goes on once there is room", "[e2e]") {
  const TemporaryFolder folder;
  CrashingServer server(folder, {"--checkpoint-seconds", "0.3"});
  server.Start();
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address()}));
  for (const TableConfig& table : {Queue(), Config("archive", Durability::kLog), Config("memory", Durability::kNone)}) {
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
  }
  const auto stub = v1::ReplayService::NewStub(NewChannel(server.address(), "observer"));
  const auto info = [&](const std::string& table) {
    v1::DescribeResponse response;
    REQUIRE_OK(CallUnary(absl::Seconds(60), StopToken(), [&](grpc::ClientContext* context) {
      return stub->Describe(context, v1::DescribeRequest(), &response);
    }));
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
    await_more("memory");  // By then an acknowledgement that was on its way is here.
    const uint64_t acknowledged = both.stats().items_inserted;
    await_more("memory");
    CHECK(both.stats().items_inserted == acknowledged);
    LimitFiles(server.pid(), RLIM_INFINITY);
    await_more("archive");
    CHECK(info("archive").blocked_because() == "");
  }
  // What was acknowledged before and after is there after a crash.
  server.Kill();
  server.Start();
  INFO(server.Log());
  REQUIRE_OK(both.Finish());
  consumer.Finish();
  REQUIRE_OK(consumer.status());
  server.Stop();
  CheckLogged(Saved(server).state(), both, consumer, 1);
}

TEST_CASE("a server that is killed over and over for long keeps what it promised", "[soak]") {
  for (uint64_t seed = 2; seed < 22; ++seed) {
    CrashAgainAndAgain(100, seed);
  }
}

}  // namespace
}  // namespace waggle::testing
