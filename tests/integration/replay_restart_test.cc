// A replay server's process whose folder was left by a crash during a checkpoint, or has a damaged database.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/random.h"
#include "common/replay/replay_client.h"
#include "common/replay/table_config_convert.h"
#include "tests/integration/crash_crew.h"
#include "tests/integration/crashing_server.h"
#include "tests/integration/replay_crew.h"
#include "tests/replay_server/storage/durable_replay.h"
#include "tests/support/delivery_history.h"

namespace waggle::testing {
namespace {

namespace fs = std::filesystem;

// Damages the database of a server that has ended, so that it cannot be read.
using Damage = void (*)(const std::string& database, Rng* rng);

void FlipByte(const std::string& file, uint64_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const int byte = stream.get();
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(static_cast<char>(byte ^ 0x40));
  REQUIRE(stream.good());
}

std::vector<std::string> FilesNamed(const std::string& folder, const std::string& part) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (absl::StrContains(entry.path().filename().string(), part)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  return files;
}

// A byte of the list of the database's files.
void FlipInManifest(const std::string& database, Rng* /*rng*/) {
  for (const std::string& file : FilesNamed(database, "MANIFEST")) {
    FlipByte(file, fs::file_size(file) / 2);
  }
}

// A byte of the name of that list.
void FlipInCurrent(const std::string& database, Rng* rng) {
  const std::string file = FilesNamed(database, "CURRENT").front();
  FlipByte(file, rng->UniformInt(fs::file_size(file) - 1));
}

// A byte in the middle of the last log. A short log, as after a checkpoint, could pass for one that a crash has cut
// off.
void FlipInLog(const std::string& database, Rng* rng) {
  constexpr uint64_t kLong = 4000;
  const std::string file = FilesNamed(database, ".log").back();
  if (fs::file_size(file) < kLong) {
    FlipInManifest(database, rng);
  } else {
    FlipByte(file, fs::file_size(file) / 2);
  }
}

void RemoveDatabase(const std::string& database, Rng* /*rng*/) {
  fs::remove_all(database);
}

// Checks that a table has all items that were acknowledged before its checkpoint, and none twice.
void CheckAtCheckpointLevel(const SavedTable& table, const CheckpointedProducer& producer) {
  INFO(table.created.name);
  DeliveryHistory history;
  history.appended = FirstNumbers(producer.appended());
  history.acknowledged = producer.durable();
  history.counts_all = false;
  AddTable(table, &history);
  CHECK(history.inserted == static_cast<int64_t>(history.left.size()));
  CHECK(absl::StrJoin(Violations(history), "; ") == "");
}

TEST_CASE("a server with a damaged database goes on from its last good checkpoint, and logs it", "[e2e]") {
  const TemporaryFolder folder;
  CrashingServer server(folder, {"--checkpoint-seconds", "0"});  // Only when asked for.
  server.Start();
  std::atomic<int> epoch{0};
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address()}));
  const std::vector<std::string> names = {"log", "saved"};
  REQUIRE_OK(connection->CreateTable(Config(names[0], Durability::kLog), StopToken()));
  REQUIRE_OK(connection->CreateTable(Config(names[1], Durability::kCheckpoint), StopToken()));
  CheckpointedProducer producer(connection.get(), server.address(), names, &epoch);
  Rng rng(5);
  int64_t damaged = 0;
  for (const Damage damage : {FlipInManifest, FlipInCurrent, FlipInLog, RemoveDatabase, FlipInManifest}) {
    const int before = producer.checkpoints();
    Eventually("checkpoints", [&] { return producer.checkpoints() >= before + 2; });
    server.Kill();
    ++epoch;
    const std::string database = server.data_dir() + "/db";
    damage(database, &rng);
    damaged += fs::exists(database) ? 1 : 0;
    server.Start();
    INFO(server.Log());
    REQUIRE(!server.ended());
    CHECK(absl::StrContains(server.Log(), "replay goes on from checkpoint"));
    // The damaged database is kept.
    CHECK(fs::exists(absl::StrCat(server.data_dir(), "/damaged/", damaged)));
  }
  // The newest checkpoint is damaged as well: the one before is used.
  const int before = producer.checkpoints();
  Eventually("checkpoints", [&] { return producer.checkpoints() >= before + 2; });
  REQUIRE_OK(producer.Finish());
  server.Kill();
  FlipInManifest(server.data_dir() + "/db", &rng);
  std::vector<uint64_t> kept;
  for (const auto& entry : fs::directory_iterator(server.data_dir() + "/checkpoints")) {
    kept.push_back(std::stoull(entry.path().filename().string()));
  }
  std::sort(kept.begin(), kept.end());
  REQUIRE(kept.size() >= 2);
  const std::string copy = folder.File("copy");
  CopyAfterCrash(server.data_dir(), copy);
  FlipInManifest(absl::StrCat(server.data_dir(), "/checkpoints/", kept.back()), &rng);
  server.Start();
  INFO(server.Log());
  CHECK(absl::StrContains(server.Log(), absl::StrCat("replay goes on from checkpoint ", kept[kept.size() - 2])));
  server.Stop();
  for (const std::string& name : names) {
    CheckAtCheckpointLevel(Saved(copy).Find(name), producer);
  }
  WARN(producer.appended() << " items, " << producer.durable().size() << " known to be safe, "
                           << Saved(copy).Find("log").items.size() << " there");
}

// Checks that a full table has the newest items, each once. Returns one past the newest item.
int64_t NextAfter(const SavedTable& table) {
  DeliveryHistory history;
  history.appended = FirstNumbers(table.counters.inserted);
  history.max_items = table.created.max_items;
  history.counts_all = false;
  history.left = IdsOf(table);
  CHECK(absl::StrJoin(Violations(history), "; ") == "");
  CHECK(table.counters.inserted - table.counters.removed == static_cast<int64_t>(history.left.size()));
  const int64_t next = history.left.empty() ? 0 : 1 + *std::max_element(history.left.begin(), history.left.end());
  CHECK(table.counters.inserted == next);
  return next;
}

// The places during a checkpoint. No table is logged, so all writes are a checkpoint's: its rows first, in portions.
constexpr const char* kPlaces[] = {"checkpoint.before_cut", "journal.before_commit", "journal.after_commit",
                                   "checkpoint.after_cut", "checkpoint.before_link"};

TEST_CASE("a checkpoint has one moment of all tables, wherever the server dies while it makes one", "[e2e]") {
  const std::string place = GENERATE(from_range(std::vector<std::string>(std::begin(kPlaces), std::end(kPlaces))));
  const int times = GENERATE(2, 5, 12);
  CAPTURE(place, times);
  const TemporaryFolder folder;
  CrashingServer server(folder, {"--checkpoint-seconds", "0.02"});
  server.Start();
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address()}));
  const std::vector<std::string> names = {"first", "second", "third"};
  for (const std::string& name : names) {
    TableConfig table = Config(name, Durability::kCheckpoint);
    table.max_items = 500;
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
  }
  server.Stop();
  server.Start(absl::StrCat(place, "=abort@", times));
  Producer producer(connection.get(), "writer", names);
  Eventually("dying at " + place, [&] { return server.ended(); });
  const std::string copy = folder.File("copy");
  CopyAfterCrash(server.data_dir(), copy);
  const int64_t appended = producer.appended() + kBlockRows;
  {
    const Saved saved(copy);
    std::vector<int64_t> next;
    for (const std::string& name : names) {
      next.push_back(NextAfter(saved.Find(name)));
    }
    // A block enters the tables in order: the first ones may have the last block.
    CAPTURE(next[0], next[1], next[2]);
    CHECK(next[0] <= appended);
    CHECK(next[0] >= next[1]);
    CHECK(next[1] >= next[2]);
    CHECK(next[0] - next[2] <= kBlockRows);
  }
  // Later all tables get the same items, each once.
  server.Start();
  INFO(server.Log());
  CHECK(!absl::StrContains(server.Log(), " error "));
  const int64_t restarted = producer.appended();
  Eventually("more blocks", [&] { return producer.appended() > restarted + 1000; });
  REQUIRE_OK(producer.Finish());
  server.Stop();
  const Saved saved(server.data_dir());
  std::vector<int64_t> first = IdsOf(saved.Find(names[0]));
  std::sort(first.begin(), first.end());
  CHECK(std::adjacent_find(first.begin(), first.end()) == first.end());
  CHECK(first.back() == producer.appended() - 1);
  for (const std::string& name : names) {
    std::vector<int64_t> ids = IdsOf(saved.Find(name));
    std::sort(ids.begin(), ids.end());
    CHECK(ids == first);
  }
}

// Calls a server, and kills it as soon as it answers.
class Killed {
 public:
  explicit Killed(const TableConfig& table) : server_(folder_, {"--checkpoint-seconds", "0"}) {
    server_.Start();
    stub_ = v1::ReplayService::NewStub(NewChannel(server_.address(), "observer"));
    const auto connection = ValueOf(NewGrpcReplayConnection({server_.address()}));
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
    ReplayWriterOptions options;
    options.writer_id = "writer";
    options.tables = {table.name};
    options.signature = table.signature;
    const auto writer = ValueOf(connection->NewWriter(options));
    REQUIRE_OK(writer->Append(Block(0, 1, 1), StopToken()));
    REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  }

  template <class Request, class Response>
  Response Call(StubMethod<v1::ReplayService::Stub, Request, Response> method, const Request& request) {
    return ValueOf(CallUnary(stub_.get(), method, request, absl::Seconds(30)));
  }
  template <class Request, class Response>
  Response CallAndKill(StubMethod<v1::ReplayService::Stub, Request, Response> method, const Request& request) {
    const Response response = Call(method, request);
    server_.Kill();
    server_.Start();
    return response;
  }
  v1::TableInfo Info() { return Call(&v1::ReplayService::Stub::Describe, v1::DescribeRequest()).tables(0); }
  // In the order of their keys.
  std::vector<v1::InspectedItem> Items(const std::string& table) {
    v1::InspectRequest request;
    request.set_table(table);
    request.set_page_size(1000);
    const auto response = Call(&v1::ReplayService::Stub::Inspect, request);
    return {response.items().begin(), response.items().end()};
  }

 private:
  const TemporaryFolder folder_;
  CrashingServer server_;
  std::unique_ptr<v1::ReplayService::Stub> stub_;
};

TEST_CASE("answered updates, deletions, reconfigurations and clearings outlive a killed server", "[e2e]") {
  TableConfig table = Config("log", Durability::kLog);
  table.sampler.kind = SelectorKind::kPrioritized;
  Killed server(table);
  const std::vector<v1::InspectedItem> items = server.Items("log");
  REQUIRE(items.size() == kBlockRows);
  v1::UpdatePrioritiesRequest update;
  update.set_table("log");
  v1::DeleteRequest gone;
  gone.set_table("log");
  for (int i = 0; i < 2; ++i) {
    update.add_keys(items[i].key());
    update.add_generations(items[i].generation());
    update.add_priorities(3 + i);
    gone.add_keys(items[i + 3].key());
    gone.add_generations(items[i + 3].generation());
  }
  REQUIRE(server.CallAndKill(&v1::ReplayService::Stub::UpdatePriorities, update).applied() == 2);
  std::vector<v1::InspectedItem> now = server.Items("log");
  REQUIRE(now.size() == kBlockRows);
  for (size_t i = 0; i < now.size(); ++i) {
    CHECK(now[i].generation() == items[i].generation());
    CHECK(now[i].priority() == (i < 2 ? 3 + static_cast<double>(i) : 1));
  }
  REQUIRE(server.CallAndKill(&v1::ReplayService::Stub::Delete, gone).deleted() == 2);
  now = server.Items("log");
  REQUIRE(now.size() == kBlockRows - 2);
  for (size_t i = 0; i < now.size(); ++i) {
    CHECK(now[i].generation() == items[i].generation());
  }
  table.max_items = 2;
  v1::ReconfigureRequest change;
  *change.mutable_config() = ToProto(table);
  change.set_config_generation(1);
  server.CallAndKill(&v1::ReplayService::Stub::Reconfigure, change);
  CHECK(server.Info().config().max_items() == 2);
  CHECK(server.Info().config_generation() == 2);
  now = server.Items("log");
  REQUIRE(now.size() == 2);
  CHECK(now[0].generation() == items[1].generation());  // The oldest item has left.
  v1::ClearRequest clear;
  clear.set_table("log");
  REQUIRE(server.CallAndKill(&v1::ReplayService::Stub::Clear, clear).deleted() == 2);
  CHECK(server.Info().items() == 0);
  CHECK(server.Info().items_inserted() == kBlockRows);
  CHECK(server.Info().items_removed() == kBlockRows);
}

TEST_CASE("a checkpoint writes and counts the items that changed since the one before", "[e2e]") {
  TableConfig table = Config("saved", Durability::kCheckpoint);
  table.sampler.kind = SelectorKind::kPrioritized;
  Killed server(table);
  const auto changed = [&server] {
    return server.Call(&v1::ReplayService::Stub::Checkpoint, v1::CheckpointRequest()).items_changed();
  };
  const v1::InspectedItem item = server.Items("saved").front();
  CHECK(changed() == kBlockRows);
  CHECK(changed() == 0);
  v1::UpdatePrioritiesRequest update;
  update.set_table("saved");
  for (int i = 0; i < 3; ++i) {  // One item, which is written once.
    update.add_keys(item.key());
    update.add_generations(item.generation());
    update.add_priorities(2 + i);
  }
  server.Call(&v1::ReplayService::Stub::UpdatePriorities, update);
  CHECK(changed() == 1);
  CHECK(changed() == 0);
  // The next server has nothing to write.
  server.CallAndKill(&v1::ReplayService::Stub::Describe, v1::DescribeRequest());
  CHECK(server.Items("saved").front().priority() == 4);
  CHECK(changed() == 0);
}

}  // namespace
}  // namespace waggle::testing
