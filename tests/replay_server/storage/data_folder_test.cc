#include "replay_server/storage/data_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "common/base/random.h"
#include "common/config/table/table_name.h"
#include "replay_server/storage/records.h"
#include "tests/replay_server/storage/durable_replay.h"
#include "tests/support/full_disk.h"
#include "waggle/v1/replay_storage.pb.h"

namespace waggle {
namespace {

namespace fs = std::filesystem;
using testing::AwaitCheckpoint;
using testing::AwaitInsert;
using testing::CopyAfterCrash;
using testing::DurableReplay;
using testing::DurableTable;
using testing::OpenReplay;
using testing::SimpleBlock;
using testing::TemporaryFolder;
using testing::TryOpenReplay;
using testing::ValueOf;

absl::StatusOr<DataFolder::Opened> Open(const std::string& path) {
  DataFolderOptions options;
  options.path = path;
  return DataFolder::Open(options);
}

// A folder as a crash leaves it: a logged table with five blocks of two items, a checkpoint after two blocks, and
// another one after four.
void Make(const TemporaryFolder& folder, const std::string& name, bool checkpoints = true) {
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("e-1/t", Durability::kLog))));
    const auto table = ValueOf(replay.store->FindTable("e-1/t"));
    const auto session = ValueOf(replay.store->OpenWriter("w", {"e-1/t"}, table->created().signature));
    REQUIRE_OK(session->Claim(1));
    for (uint64_t i = 0; i < 5; ++i) {
      REQUIRE_OK(AwaitInsert(session.get(), i + 1, SimpleBlock(i * 2, 2)));
      if (checkpoints && i % 2 == 1) {
        REQUIRE_OK(AwaitCheckpoint(replay.journal.get()).status());
      }
    }
    CopyAfterCrash(folder.File("live"), folder.File(name));
  }
  fs::remove_all(folder.File("live"));
}

int64_t Items(const std::string& path) {
  return static_cast<int64_t>(ValueOf(Open(path)).state.tables.at(0).items.size());
}

std::vector<std::string> FilesOf(const std::string& path, const std::string& extension) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file() && (extension.empty() || entry.path().extension() == extension)) {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Put(Database* database, const std::string& key, const std::string& value,
         Database::Family family = Database::Family::kMeta) {
  rocksdb::WriteBatch batch;
  REQUIRE(batch.Put(database->family(family), key, value).ok());
  REQUIRE_OK(database->Write(&batch, /*sync=*/false));
}

void FlipByte(const std::string& file, int64_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(at);
  const int byte = stream.get();
  stream.seekp(at);
  stream.put(static_cast<char>(byte ^ 0x40));
}

TEST_CASE("a folder has one server at a time", "[unit]") {
  const TemporaryFolder folder;
  {
    const DataFolder::Opened first = ValueOf(Open(folder.File("f")));
    REQUIRE_CODE(Open(folder.File("f")), absl::StatusCode::kUnavailable);
  }
  REQUIRE_OK(Open(folder.File("f")));
}

TEST_CASE("a folder that cannot be made, or was written by a newer server, is refused", "[unit]") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("file")) << "no folder";
  REQUIRE(!Open(folder.File("file/f")).ok());
  {
    DataFolder::Opened opened = ValueOf(Open(folder.File("f")));
    v1::StoredFormat format;
    format.set_version(kStorageFormat + 1);
    Put(opened.database.get(), kFormatKey, format.SerializeAsString());
  }
  REQUIRE_CODE(Open(folder.File("f")), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("no database is begun on a disk that is nearly full", "[unit]") {
  const TemporaryFolder folder;
  DataFolderOptions options;
  options.path = folder.File("f");
  options.least_free_bytes = uint64_t{1} << 62;
  REQUIRE_CODE(DataFolder::Open(options), absl::StatusCode::kResourceExhausted);
  CHECK_FALSE(fs::exists(folder.File("f/db")));
  REQUIRE_OK(Open(folder.File("f")));
}

TEST_CASE("a folder that a full disk cannot open is left as it is, and opens later", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "f");
  {
    const testing::FullDisk full(1);
    REQUIRE_CODE(Open(folder.File("f")), absl::StatusCode::kResourceExhausted);
  }
  CHECK(!fs::exists(folder.File("f/damaged")));
  CHECK(Items(folder.File("f")) == 10);
}

TEST_CASE("the newest checkpoint replaces a damaged or missing database, which is kept", "[unit]") {
  const TemporaryFolder made;
  Make(made, "f");
  using Damage = std::function<void(const std::string& path)>;
  const auto open = [](const std::string& path) {
    return ValueOf(Database::Open(path, /*create=*/false, /*env=*/nullptr));
  };
  for (const auto& [name, damage] : std::initializer_list<
           std::pair<const char*, Damage>>{{"it is gone", [](const std::string& path) { fs::remove_all(path); }},
                                           {"its root file is gone",
                                            [](const std::string& path) { fs::remove(path + "/CURRENT"); }},
                                           {"the list of its files is damaged",
                                            [](const std::string& path) {
                                              for (const std::string& file : FilesOf(path, "")) {
                                                if (absl::StrContains(file, "MANIFEST")) {
                                                  FlipByte(file, static_cast<int64_t>(fs::file_size(file)) / 2);
                                                }
                                              }
                                            }},
                                           {"its files are empty",
                                            [](const std::string& path) {
                                              for (const std::string& file : FilesOf(path, "")) {
                                                fs::resize_file(file, 0);
                                              }
                                            }},
                                           {"a table cannot have counted what it says",
                                            [&open](const std::string& path) {
                                              const auto database = open(path);
                                              v1::StoredCounters counters;
                                              counters.set_inserted(1);  // Its items are in later slots.
                                              Put(database.get(),
                                                  CountersKey(
                                                      ValueOf(LoadSavedState(database.get())).tables.front().number),
                                                  counters.SerializeAsString());
                                            }},
                                           {"a writer's rows have an unknown codec", [&open](const std::string& path) {
                                              const auto database = open(path);
                                              const std::string key = WriterKey(
                                                  ValueOf(LoadSavedState(database.get())).writers.front().number);
                                              v1::StoredWriter writer;
                                              REQUIRE(writer.ParseFromString(
                                                  ValueOf(database->Get(Database::Family::kWriters, key))));
                                              writer.set_codecs(0, static_cast<v1::ColumnCompression::Codec>(99));
                                              Put(database.get(), key, writer.SerializeAsString(),
                                                  Database::Family::kWriters);
                                            }}}) {
    INFO(name);
    const TemporaryFolder folder;
    CopyAfterCrash(made.File("f"), folder.File("f"));
    damage(folder.File("f/db"));
    const bool there = fs::exists(folder.File("f/db"));
    CHECK(Items(folder.File("f")) == 8);
    CHECK(fs::exists(folder.File("f/damaged/1")) == there);
    CHECK(Items(folder.File("f")) == 8);
  }
}

TEST_CASE("the checkpoint before replaces a damaged newest checkpoint", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "f");
  fs::remove(folder.File("f/db/CURRENT"));
  fs::remove(folder.File("f/checkpoints/2/CURRENT"));
  CHECK(Items(folder.File("f")) == 4);
}

TEST_CASE("a folder in which nothing can be read is refused and left as it is", "[unit]") {
  const TemporaryFolder folder;
  const bool checkpoints = GENERATE(false, true);
  Make(folder, "f", checkpoints);
  fs::remove(folder.File("f/db/CURRENT"));
  if (checkpoints) {
    fs::remove(folder.File("f/checkpoints/1/CURRENT"));
    fs::remove(folder.File("f/checkpoints/2/CURRENT"));
  }
  const auto before = FilesOf(folder.File("f/checkpoints"), ".sst");
  REQUIRE_CODE(Open(folder.File("f")), absl::StatusCode::kDataLoss);
  CHECK(fs::exists(folder.File("f/db/IDENTITY")));
  CHECK(FilesOf(folder.File("f/checkpoints"), ".sst") == before);
}

TEST_CASE("a log that a crash has cut off is read up to there", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "f", /*checkpoints=*/false);
  const std::vector<std::string> logs = FilesOf(folder.File("f/db"), ".log");
  REQUIRE(logs.size() == 1);
  const auto size = static_cast<int64_t>(fs::file_size(logs[0]));
  int64_t last = 0;
  for (int64_t left = size / 50; left <= size; left += size / 50) {
    CopyAfterCrash(folder.File("f"), folder.File("cut"));
    fs::resize_file(FilesOf(folder.File("cut/db"), ".log")[0], static_cast<uintmax_t>(left));
    const auto opened = Open(folder.File("cut"));
    if (!opened.ok()) {  // Its format was not written.
      REQUIRE(absl::IsDataLoss(opened.status()));
      REQUIRE(last == 0);
      continue;
    }
    const int64_t items = opened->state.tables.empty() ? 0 : static_cast<int64_t>(opened->state.tables[0].items.size());
    REQUIRE(items % 2 == 0);
    REQUIRE(items >= last);
    REQUIRE(opened->lost.items == static_cast<uint64_t>(10 - items));
    REQUIRE(opened->lost.commits >= 5 - items / 2);
    last = items;
  }
  REQUIRE(last >= 8);
  CHECK(ValueOf(Open(folder.File("cut"))).lost.commits == 0);  // It is reported once.
  CHECK(ValueOf(Open(folder.File("f"))).lost.commits == 0);
}

TEST_CASE("a folder with any damaged byte is restored as it was at some moment, or refused", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "f");
  Rng rng(Rng::Split(7, "damage", 0).Next());
  int fell_back = 0;
  for (int i = 0; i < 60; ++i) {
    CopyAfterCrash(folder.File("f"), folder.File("hit"));
    std::vector<std::string> files = FilesOf(folder.File("hit/db"), "");
    files.erase(
        std::remove_if(files.begin(), files.end(), [](const std::string& file) { return fs::file_size(file) == 0; }),
        files.end());
    const std::string file = files[rng.UniformInt(files.size())];
    const auto at = static_cast<int64_t>(rng.UniformInt(fs::file_size(file)));
    INFO(file << ", byte " << at);
    FlipByte(file, at);
    const auto opened = Open(folder.File("hit"));
    if (!opened.ok()) {
      REQUIRE(absl::IsDataLoss(opened.status()));
      continue;
    }
    fell_back += fs::exists(folder.File("hit/damaged")) ? 1 : 0;
    REQUIRE(opened->state.tables.size() == 1);
    const SavedTable& table = opened->state.tables[0];
    const RowLayout layout(table.created.signature);
    REQUIRE(table.items.size() >= 4);
    for (size_t item = 0; item < table.items.size(); ++item) {
      float reward = 0;
      std::memcpy(&reward, table.items[item].chunks[0]->Row(layout, 1, table.items[item].offset), sizeof(reward));
      REQUIRE(reward == static_cast<float>(item));
    }
  }
  REQUIRE(fell_back > 0);
}

// The experiment's cut that a folder goes back to when it is opened.
absl::StatusOr<DataFolder::Opened> OpenAt(const std::string& path, uint64_t cut, const std::string& token) {
  DataFolderOptions options;
  options.path = path;
  options.return_to = {{"e-1", cut, token}};
  return DataFolder::Open(options);
}

// Why it cannot go back.
absl::Status FailureAt(const std::string& path, uint64_t cut, const std::string& token = "token") {
  const DataFolder::Opened opened = ValueOf(OpenAt(path, cut, token));
  REQUIRE(opened.failed.size() == 1);
  CHECK(opened.failed.at(0).cut.number == cut);
  CHECK(ValueOf(opened.folder->ReturnToken("e-1")) != token);
  return opened.failed.at(0).status;
}

TEST_CASE("a folder keeps cuts beside its checkpoints, and goes back to one", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "it");
  const std::string path = folder.File("it");
  {
    DataFolder::Opened opened = ValueOf(Open(path));
    Database* const database = opened.database.get();
    REQUIRE_OK(opened.folder->KeepCut(database, {"e-1", 1, {}}));
    rocksdb::WriteBatch batch;
    REQUIRE(batch.DeleteRange(database->family(Database::Family::kItems), "", "~").ok());
    REQUIRE_OK(database->Write(&batch, /*sync=*/true));
    REQUIRE_OK(opened.folder->KeepCut(database, {"e-1", 2, {1}}));
    REQUIRE_OK(opened.folder->KeepCut(database, {"e-1", 3, {1}}));
    CHECK(fs::exists(path + "/cuts/e-1/1"));
    CHECK_FALSE(fs::exists(path + "/cuts/e-1/2"));
    for (const char* const wrong : {"a/b", "..", ".hidden"}) {
      CHECK(absl::IsInvalidArgument(opened.folder->KeepCut(database, {wrong, 1, {}})));
    }
  }
  CHECK(Items(path) == 0);
  {
    const DataFolder::Opened back = ValueOf(OpenAt(path, 1, "first"));
    CHECK(back.state.tables.at(0).items.size() == 10);
    CHECK(back.failed.empty());
    CHECK(ValueOf(back.folder->ReturnToken("e-1")) == "first");
    CHECK(ValueOf(back.folder->ReturnToken("another")).empty());
  }
  CHECK(Items(path) == 10);
  CHECK(absl::IsNotFound(FailureAt(path, 2)));
  CHECK(Items(path) == 10);
}

// A folder whose server has tables of two experiments.
class TwoExperiments {
 public:
  std::string path() const { return folder_.File("it"); }

  // Appends a block of two items to the experiment's table, which is made if it is missing.
  void Append(const std::string& experiment) {
    const DurableReplay replay = OpenReplay(path());
    TableConfig config = DurableTable(experiment + "/t", DurabilityOf(experiment));
    config.memory_limit = memory_limit_;
    REQUIRE_OK(replay.store->CreateTable(config));
    const auto session = ValueOf(replay.store->OpenWriter("writer-of-" + experiment, {config.name}, config.signature));
    const uint64_t block = ++blocks_[experiment];
    REQUIRE_OK(session->Claim(7));
    REQUIRE_OK(AwaitInsert(session.get(), block, SimpleBlock(block * 2, 2)));
  }
  void Drop(const std::string& experiment) {
    const DurableReplay replay = OpenReplay(path());
    CHECK(replay.store->DropExperiment(experiment) == 1);
    blocks_.erase(experiment);
  }
  void Cut(const std::string& experiment) const {
    const DurableReplay replay = OpenReplay(path());
    REQUIRE_OK(replay.folder->KeepCut(replay.database.get(), {experiment, 1, {}}));
  }
  // Sets the number of blocks of a table that has gone back.
  void ContinueAt(const std::string& experiment, uint64_t blocks) { blocks_[experiment] = blocks; }
  // Both before the table is made.
  void SetMemoryLimit(int64_t bytes) { memory_limit_ = bytes; }
  void SetDurability(const std::string& experiment, Durability durability) { durability_[experiment] = durability; }

  // The generations of all items, by experiment. Their rows must be there.
  std::map<std::string, std::vector<uint64_t>> Generations() const {
    const DataFolder::Opened opened = ValueOf(Open(path()));
    std::map<std::string, std::vector<uint64_t>> generations;
    for (const SavedTable& table : opened.state.tables) {
      for (const ItemRecord& item : table.items) {
        generations[std::string(ExperimentOfTable(table.created.name))].push_back(item.generation);
        const uint64_t block = item.chunks.at(0)->durable()->id;
        REQUIRE_OK(opened.database->Get(Database::Family::kBlocks,
                                        (block & kTieredBlock) == 0 ? BlockKey(block) : RowsKey(block)));
      }
    }
    return generations;
  }

 private:
  Durability DurabilityOf(const std::string& experiment) const {
    const auto found = durability_.find(experiment);
    return found == durability_.end() ? Durability::kLog : found->second;
  }

  const TemporaryFolder folder_;
  int64_t memory_limit_ = 0;
  std::map<std::string, Durability> durability_;
  std::map<std::string, uint64_t> blocks_;
};

TEST_CASE("an experiment goes back to its cut, and the tables of others stay as they are", "[unit]") {
  TwoExperiments both;
  both.SetMemoryLimit(GENERATE(0, 1 << 20));
  both.SetDurability("e-1", GENERATE(Durability::kLog, Durability::kCheckpoint));
  both.SetDurability("f-2", GENERATE(Durability::kLog, Durability::kCheckpoint));
  both.Append("e-1");
  both.Append("f-2");
  both.Append("e-1");
  const auto before = both.Generations();
  both.Cut("e-1");
  both.Append("f-2");
  SECTION("its tables have changed") {
    both.Append("e-1");
  }
  SECTION("its tables are gone, and others have been made since") {
    both.Drop("e-1");
    both.Append("f-2");
    both.Append("g-3");
    both.Append("g-3");
  }
  auto expected = both.Generations();
  CHECK(expected["e-1"] != before.at("e-1"));
  expected["e-1"] = before.at("e-1");
  CHECK(ValueOf(OpenAt(both.path(), 1, "token")).failed.empty());
  CHECK(both.Generations() == expected);
  both.ContinueAt("e-1", 2);
  both.Append("e-1");
  both.Append("f-2");
  CHECK(both.Generations().at("e-1").size() == 6);
  CHECK(both.Generations().at("f-2").size() == expected.at("f-2").size() + 2);
}

TEST_CASE("an experiment goes back to a cut in a new folder, to which the cut was copied", "[unit]") {
  TwoExperiments both;
  both.SetMemoryLimit(GENERATE(0, 1 << 20));
  both.Append("e-1");
  both.Append("f-2");
  const auto before = both.Generations();
  both.Cut("e-1");
  const TwoExperiments other;
  fs::create_directories(other.path());
  fs::copy(both.path() + "/cuts", other.path() + "/cuts", fs::copy_options::recursive);
  CHECK(ValueOf(OpenAt(other.path(), 1, "token")).failed.empty());
  const auto after = other.Generations();
  REQUIRE(after.size() == 1);
  CHECK(after.at("e-1") == before.at("e-1"));
}

TEST_CASE("a start that goes back to several cuts makes the returns that can be made", "[unit]") {
  TwoExperiments both;
  both.Append("e-1");
  both.Append("f-2");
  const auto before = both.Generations();
  both.Cut("e-1");
  both.Cut("f-2");
  both.Append("e-1");
  both.Append("f-2");
  DataFolderOptions options;
  options.path = both.path();
  options.return_to = {{"e-1", 1, "a"}, {"g-3", 1, "b"}, {"f-2", 1, "c"}};
  {
    const DataFolder::Opened opened = ValueOf(DataFolder::Open(options));
    REQUIRE(opened.failed.size() == 1);
    CHECK(opened.failed.at(0).cut.experiment == "g-3");
    CHECK(absl::IsNotFound(opened.failed.at(0).status));
  }
  CHECK(both.Generations() == before);
}

TEST_CASE("a return in which the server has ended again and again is given up", "[unit]") {
  TwoExperiments both;
  both.Append("e-1");
  both.Cut("e-1");
  const std::string starts = both.path() + "/cuts/e-1/returning";
  std::ofstream(starts) << "token 3\n";
  CHECK(absl::IsAborted(FailureAt(both.path(), 1)));
  CHECK(ValueOf(OpenAt(both.path(), 1, "another")).failed.empty());
  CHECK_FALSE(fs::exists(starts));
}

TEST_CASE("a cut that a newer server has made is refused", "[unit]") {
  TwoExperiments both;
  both.Append("e-1");
  both.Cut("e-1");
  {
    const auto cut = ValueOf(Database::Open(both.path() + "/cuts/e-1/1", /*create=*/false, nullptr));
    v1::StoredFormat format;
    format.set_version(kStorageFormat + 1);
    Put(cut.get(), kFormatKey, format.SerializeAsString());
  }
  CHECK(absl::IsFailedPrecondition(FailureAt(both.path(), 1)));
}

TEST_CASE("a cut whose rows the database has under another meaning is refused", "[unit]") {
  TwoExperiments both;
  both.Append("e-1");
  both.Append("e-1");
  both.Cut("e-1");
  {
    const DataFolder::Opened opened = ValueOf(Open(both.path()));
    const std::vector<ItemRecord>& items = opened.state.tables.at(0).items;
    const auto key = [](const ItemRecord& item) { return BlockKey(item.chunks.at(0)->durable()->id); };
    const std::string other = ValueOf(opened.database->Get(Database::Family::kBlocks, key(items.back())));
    Put(opened.database.get(), key(items.front()), other, Database::Family::kBlocks);
  }
  CHECK(absl::IsFailedPrecondition(FailureAt(both.path(), 1)));
}

TEST_CASE("an experiment whose writer has tables of others as well cannot go back alone", "[unit]") {
  TwoExperiments both;
  both.Append("e-1");
  both.Append("f-2");
  {
    const DurableReplay replay = OpenReplay(both.path());
    const auto signature = ValueOf(replay.store->FindTable("e-1/t"))->created().signature;
    const auto session = ValueOf(replay.store->OpenWriter("of-both", {"e-1/t", "f-2/t"}, signature));
    REQUIRE_OK(session->Claim(1));
    InsertBlock block = SimpleBlock(0, 1);
    REQUIRE_OK(AwaitInsert(session.get(), 1, std::move(block)));
  }
  both.Cut("e-1");
  const auto before = both.Generations();
  CHECK(absl::IsFailedPrecondition(FailureAt(both.path(), 1)));
  CHECK(both.Generations() == before);
}

TEST_CASE("a return that ends in the middle leaves the database of before", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "it");
  const std::string path = folder.File("it");
  CHECK(Items(path) == 10);
  fs::copy(path + "/db", path + "/db.new", fs::copy_options::recursive);
  fs::copy(path + "/db", path + "/db.cut", fs::copy_options::recursive);
  fs::rename(path + "/db", path + "/db.old");  // As a server leaves it that dies here.
  CHECK(Items(path) == 10);
  CHECK_FALSE(fs::exists(path + "/db.old"));
  CHECK_FALSE(fs::exists(path + "/db.new"));
  CHECK_FALSE(fs::exists(path + "/db.cut"));
}

TEST_CASE("a damaged cut does not take the database's place", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "it");
  const std::string path = folder.File("it");
  {
    const DataFolder::Opened opened = ValueOf(Open(path));
    REQUIRE_OK(opened.folder->KeepCut(opened.database.get(), {"e-1", 1, {}}));
  }
  fs::remove(path + "/cuts/e-1/1/CURRENT");
  const absl::Status status = FailureAt(path, 1);
  CHECK_FALSE(status.ok());
  CHECK(absl::StrContains(status.message(), "cuts/e-1/1"));
  CHECK(Items(path) == 10);
}

}  // namespace
}  // namespace waggle
