#include "replay_server/storage/data_folder.h"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/match.h"
#include "common/base/random.h"
#include "replay_server/storage/records.h"
#include "tests/replay_server/storage/durable_replay.h"
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

// A folder as a crash would leave it: five blocks of two items each in a logged table, a checkpoint after two, and
// another one after four.
void Make(const TemporaryFolder& folder, const std::string& name, bool checkpoints = true) {
  {
    DurableReplay replay = OpenReplay(folder.File("live"));
    REQUIRE(ValueOf(replay.store->CreateTable(DurableTable("t", Durability::kLog))));
    const auto table = ValueOf(replay.store->FindTable("t"));
    const auto session = ValueOf(replay.store->OpenWriter("w", {"t"}, table->created().signature));
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
    const absl::Status second = Open(folder.File("f")).status();
    REQUIRE(absl::IsUnavailable(second));
    REQUIRE(absl::StrContains(second.message(), "another replay server"));
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
    rocksdb::WriteBatch batch;
    batch.Put(opened.database->family(Database::Family::kMeta), kFormatKey, format.SerializeAsString());
    REQUIRE_OK(opened.database->Write(&batch, true));
  }
  const absl::Status refused = Open(folder.File("f")).status();
  REQUIRE(absl::IsFailedPrecondition(refused));
  REQUIRE(absl::StrContains(refused.message(), "newer server"));
}

TEST_CASE("no database is begun on a disk that is nearly full", "[unit]") {
  const TemporaryFolder folder;
  DataFolderOptions options;
  options.path = folder.File("f");
  options.least_free_bytes = uint64_t{1} << 62;
  const absl::Status refused = DataFolder::Open(options).status();
  REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
  REQUIRE(absl::StrContains(refused.message(), "bytes left"));
  CHECK_FALSE(fs::exists(folder.File("f/db")));
  REQUIRE_OK(Open(folder.File("f")));
}

TEST_CASE("a folder whose disk has no room for opening it says how much that takes, and opens once there is",
          "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "f");
  // A limit on the size of files stands for a full disk.
  rlimit old_limit;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{1, old_limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const absl::Status refused = Open(folder.File("f")).status();
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  signal(SIGXFSZ, old_handler);
  REQUIRE_CODE(refused, absl::StatusCode::kResourceExhausted);
  CAPTURE(refused.message());
  CHECK(absl::StartsWith(refused.message(), absl::StrCat("there is no room in ", folder.File("f"),
                                                         " to open what is kept there: that takes up to 16")));
  CHECK(absl::StrContains(refused.message(), "Nothing is lost: make room"));
  CHECK(absl::StrContains(refused.message(), "File too large"));
  CHECK(!fs::exists(folder.File("f/damaged")));
  CHECK(Items(folder.File("f")) == 10);
}

TEST_CASE("where the database is damaged or gone, the newest checkpoint takes its place and it is kept aside",
          "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "f");
  CHECK(Items(folder.File("f")) == 10);
  SECTION("it is gone") {
    fs::remove_all(folder.File("f/db"));
  }
  SECTION("the file that says what it is made of is gone") {
    fs::remove(folder.File("f/db/CURRENT"));
  }
  SECTION("the list of its files is damaged") {
    for (const std::string& file : FilesOf(folder.File("f/db"), "")) {
      if (absl::StrContains(file, "MANIFEST")) {
        FlipByte(file, static_cast<int64_t>(fs::file_size(file)) / 2);
      }
    }
  }
  SECTION("its files are empty") {
    for (const std::string& file : FilesOf(folder.File("f/db"), "")) {
      fs::resize_file(file, 0);
    }
  }
  SECTION("a table cannot have counted what it says") {
    const auto database = ValueOf(Database::Open(folder.File("f/db"), /*create=*/false, /*env=*/nullptr));
    const SavedState state = ValueOf(LoadSavedState(database.get()));
    v1::StoredCounters counters;
    counters.set_inserted(1);  // Its items are in slots behind that.
    Put(database.get(), CountersKey(state.tables.front().number), counters.SerializeAsString());
  }
  SECTION("a writer has rows of a codec that is none") {
    const auto database = ValueOf(Database::Open(folder.File("f/db"), /*create=*/false, /*env=*/nullptr));
    const SavedState state = ValueOf(LoadSavedState(database.get()));
    const std::string key = WriterKey(state.writers.front().number);
    v1::StoredWriter writer;
    REQUIRE(writer.ParseFromString(ValueOf(database->Get(Database::Family::kWriters, key))));
    writer.set_codecs(0, static_cast<v1::ColumnCompression::Codec>(99));
    Put(database.get(), key, writer.SerializeAsString(), Database::Family::kWriters);
  }
  const bool there = fs::exists(folder.File("f/db"));
  CHECK(Items(folder.File("f")) == 8);
  CHECK(fs::exists(folder.File("f/damaged/1")) == there);
  CHECK(Items(folder.File("f")) == 8);
}

TEST_CASE("where the newest checkpoint is damaged too, the one before takes its place", "[unit]") {
  const TemporaryFolder folder;
  Make(folder, "f");
  fs::remove(folder.File("f/db/CURRENT"));
  fs::remove(folder.File("f/checkpoints/2/CURRENT"));
  CHECK(Items(folder.File("f")) == 4);
}

TEST_CASE("where nothing can be read, the folder is refused and left as it is", "[unit]") {
  const TemporaryFolder folder;
  const bool checkpoints = GENERATE(false, true);
  Make(folder, "f", checkpoints);
  fs::remove(folder.File("f/db/CURRENT"));
  if (checkpoints) {
    fs::remove(folder.File("f/checkpoints/1/CURRENT"));
    fs::remove(folder.File("f/checkpoints/2/CURRENT"));
  }
  const auto before = FilesOf(folder.File("f/checkpoints"), ".sst");
  const absl::Status refused = Open(folder.File("f")).status();
  REQUIRE(absl::IsDataLoss(refused));
  REQUIRE(absl::StrContains(refused.message(), folder.File("f")));
  CHECK(fs::exists(folder.File("f/db/IDENTITY")));
  CHECK(FilesOf(folder.File("f/checkpoints"), ".sst") == before);
}

TEST_CASE("a log that a crash has cut off anywhere is read up to there", "[unit]") {
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
    if (!opened.ok()) {  // Not even its format was written.
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
  CHECK(ValueOf(Open(folder.File("cut"))).lost.commits == 0);  // It is said once.
  CHECK(ValueOf(Open(folder.File("f"))).lost.commits == 0);
}

TEST_CASE("whichever byte is damaged, what is served is what was written, as of some moment, or nothing", "[unit]") {
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

}  // namespace
}  // namespace waggle
