#include "replay_server/storage/database.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "replay_server/storage/records.h"
#include "tests/replay_server/storage/full_disk.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ValueOf;
using Family = Database::Family;

absl::Status Put(Database* database, const std::string& key, const std::string& value, bool sync = false) {
  rocksdb::WriteBatch batch;
  const rocksdb::Status status = batch.Put(database->family(Family::kMeta), key, value);
  return status.ok() ? database->Write(&batch, sync) : FromRocksDb(status);
}

TEST_CASE("a database is read again as it was written", "[unit]") {
  testing::FullDiskEnv env;
  REQUIRE(!Database::Open("/db", /*create=*/false, &env).ok());
  {
    const auto database = ValueOf(Database::Open("/db", /*create=*/true, &env));
    REQUIRE_OK(Put(database.get(), "a", "1", /*sync=*/true));
    REQUIRE(ValueOf(database->Get(Family::kMeta, "a")) == "1");
    REQUIRE_CODE(database->Get(Family::kItems, "a"), absl::StatusCode::kNotFound);
  }
  const auto database = ValueOf(Database::Open("/db", /*create=*/false, &env));
  REQUIRE(ValueOf(database->Get(Family::kMeta, "a")) == "1");
}

TEST_CASE("live rows are moved out of files only once most of their bytes are garbage", "[unit]") {
  const testing::TemporaryFolder folder;
  const auto database = ValueOf(Database::Open(folder.File("db"), /*create=*/true, nullptr));
  rocksdb::ColumnFamilyHandle* const blocks = database->family(Family::kBlocks);
  const auto moves = [&] { return database->get()->GetOptions(blocks).blob_garbage_collection_age_cutoff > 0; };
  const auto write = [&](rocksdb::WriteBatch batch) { REQUIRE_OK(database->Write(&batch, /*sync=*/false)); };
  const auto compact = [&] {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    REQUIRE(database->get()->CompactRange(options, blocks, nullptr, nullptr).ok());
  };
  const auto bytes = [&] {
    uint64_t size = 0;
    REQUIRE(database->get()->GetIntProperty(blocks, rocksdb::DB::Properties::kLiveBlobFileSize, &size));
    return size;
  };
  for (int i = 0; i < 100; ++i) {
    rocksdb::WriteBatch batch;
    REQUIRE(batch.Put(blocks, BlockKey(static_cast<uint64_t>(i)), std::string(10'000, 'x')).ok());
    write(std::move(batch));
    if (i % 10 == 9) {  // Ten files.
      REQUIRE(database->get()->Flush({}, blocks).ok());
    }
  }
  compact();
  REQUIRE_OK(database->Copy(folder.File("first")));
  CHECK_FALSE(moves());
  for (int i = 0; i < 100; ++i) {
    if (i % 5 == 0) {  // Some rows of each file stay.
      continue;
    }
    rocksdb::WriteBatch batch;
    REQUIRE(batch.Delete(blocks, BlockKey(static_cast<uint64_t>(i))).ok());
    write(std::move(batch));
  }
  compact();
  REQUIRE_OK(database->Copy(folder.File("second")));
  CHECK(moves());
  const uint64_t before = bytes();
  compact();
  CHECK(bytes() < before);
}

// Resumes until a write succeeds.
absl::Status PutAgain(Database* database, const std::string& key, const std::string& value) {
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  absl::Status written = absl::UnknownError("not yet");
  while (!written.ok() && absl::Now() < deadline) {
    database->Resume().IgnoreError();
    written = Put(database, key, value);
  }
  return written;
}

TEST_CASE("a full disk is RESOURCE_EXHAUSTED, and writing continues after it", "[unit]") {
  testing::FullDiskEnv env;
  const auto database = ValueOf(Database::Open("/db", /*create=*/true, &env));
  REQUIRE_OK(Put(database.get(), "a", "1"));
  env.SetFull(true);
  REQUIRE_CODE(Put(database.get(), "b", "2"), absl::StatusCode::kResourceExhausted);
  REQUIRE(!Put(database.get(), "b", "2").ok());
  REQUIRE(ValueOf(database->Get(Family::kMeta, "a")) == "1");
  env.SetFull(false);
  REQUIRE_OK(PutAgain(database.get(), "b", "2"));
  REQUIRE(ValueOf(database->Get(Family::kMeta, "b")) == "2");
}

TEST_CASE("writing continues, without a loss, after an error that RocksDB takes for final", "[unit]") {
  testing::FullDiskEnv env;
  const auto database = ValueOf(Database::Open("/db", /*create=*/true, &env));
  REQUIRE_OK(Put(database.get(), "a", "1"));
  env.SetFailing(true);
  REQUIRE(!Put(database.get(), "b", "2").ok());
  REQUIRE(!database->Resume().ok());  // It cannot be opened again either.
  const absl::Status closed = Put(database.get(), "b", "2");
  REQUIRE_CODE(closed, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(closed.message(), "Disk quota exceeded"));  // The cause, which a user can remove.
  REQUIRE_CODE(database->Get(Family::kMeta, "a"), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(database->Copy("/copy"), absl::StatusCode::kUnavailable);
  env.SetFailing(false);
  REQUIRE_OK(PutAgain(database.get(), "b", "2"));
  REQUIRE(ValueOf(database->Get(Family::kMeta, "a")) == "1");
  REQUIRE(ValueOf(database->Get(Family::kMeta, "b")) == "2");
}

TEST_CASE("a database is not opened anew while it is in use, and not used meanwhile", "[unit]") {
  testing::FullDiskEnv env;
  const auto database = ValueOf(Database::Open("/db", /*create=*/true, &env));
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::thread user([&] {
    while (!stop) {
      const Database::Use use(database.get());
      if (use.status().ok()) {
        database->Get(Database::Family::kMeta, "key").IgnoreError();
        ++reads;
      }
    }
  });
  for (int before = reads; reads == before;) {
  }
  env.SetFailing(true);
  CHECK_FALSE(Put(database.get(), "key", "value").ok());
  for (int i = 0; i < 5; ++i) {
    database->Resume().IgnoreError();
  }
  env.SetFailing(false);
  CHECK(PutAgain(database.get(), "key", "value").ok());
  for (int before = reads; reads == before;) {
  }
  stop = true;
  user.join();
}

TEST_CASE("errors of RocksDB become codes", "[unit]") {
  using rocksdb::Status;
  REQUIRE_OK(FromRocksDb(Status::OK()));
  REQUIRE_CODE(FromRocksDb(Status::NoSpace("x")), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(FromRocksDb(Status::IOError("While appending: x: File too large")),
               absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(FromRocksDb(Status::Corruption("x")), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(FromRocksDb(Status::IOError("While lock file: x: Resource temporarily unavailable")),
               absl::StatusCode::kUnavailable);
  REQUIRE_CODE(FromRocksDb(Status::IOError("x: Permission denied")), absl::StatusCode::kPermissionDenied);
  REQUIRE_CODE(FromRocksDb(Status::Busy("x")), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("a database leaves file descriptors for connections", "[unit]") {
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = std::min<rlim_t>(before.rlim_max, 800);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  testing::FullDiskEnv env;
  const auto database = ValueOf(Database::Open("/db", /*create=*/true, &env));
  CHECK(database->get()->GetDBOptions().max_open_files == static_cast<int>(few.rlim_cur / 8));
  few.rlim_cur = 64;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  CHECK(MostOpenTables() == 20);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace
}  // namespace waggle
