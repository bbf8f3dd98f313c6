#include "replay_server/storage/cold_database.h"

#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/steady_now.h"
#include "tests/replay_server/storage/full_disk.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

constexpr size_t kValueBytes = size_t{1} << 20;

std::string Value(int number) {
  return std::string(kValueBytes, static_cast<char>('a' + number % 26));
}

absl::Status Put(ColdDatabase* database, int number) {
  rocksdb::WriteBatch batch;
  const rocksdb::Status status = batch.Put(absl::StrCat(number), Value(number));
  REQUIRE(status.ok());
  return database->Write(&batch);
}

std::string Get(ColdDatabase* database, int number) {
  const ColdDatabase::Use use(database);
  const absl::StatusOr<rocksdb::DB*> files = use.get();
  std::string value;
  return files.ok() && (*files)->Get(rocksdb::ReadOptions(), absl::StrCat(number), &value).ok() ? value : "";
}

// Writes values until the buffers are full and a write fails.
int FillUntilItFails(ColdDatabase* database, int first) {
  int number = first;
  while (Put(database, number).ok()) {
    ++number;
    REQUIRE(number < first + 1000);
  }
  return number;
}

absl::Status PutAgain(ColdDatabase* database, int number) {
  const absl::Time deadline = SteadyNow() + absl::Minutes(1);
  absl::Status written = Put(database, number);
  while (!written.ok() && SteadyNow() < deadline) {
    written = Put(database, number);
  }
  return written;
}

TEST_CASE("rows can be written, and none is lost, after an error that RocksDB takes for final", "[unit]") {
  testing::FullDiskEnv env;
  const auto database = ValueOf(ColdDatabase::Create("/cold", &env));
  int written = 0;
  const auto check_all = [&] {
    for (int number = 0; number < written; ++number) {
      REQUIRE((Get(database.get(), number) == Value(number)));
    }
  };
  for (; written < 20; ++written) {  // Some are on the disk, the last ones in buffers.
    REQUIRE_OK(Put(database.get(), written));
  }
  for (int round = 0; round < 2; ++round) {
    env.SetFailing(true);
    written = FillUntilItFails(database.get(), written);
    REQUIRE_FALSE(Put(database.get(), written).ok());
    check_all();
    env.SetFailing(false);
    REQUIRE_OK(PutAgain(database.get(), written));
    ++written;
    check_all();
  }
}

TEST_CASE("readers of a database that is opened anew get all rows, or an error", "[unit]") {
  testing::FullDiskEnv env;
  const auto database = ValueOf(ColdDatabase::Create("/cold", &env));
  REQUIRE_OK(Put(database.get(), 0));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop) {
      const ColdDatabase::Use use(database.get());
      std::string value;
      const absl::StatusOr<rocksdb::DB*> files = use.get();
      wrong += files.ok() && !(*files)->Get(rocksdb::ReadOptions(), "0", &value).ok() ? 1 : 0;
    }
  });
  for (int round = 0, number = 1; round < 2; ++round) {
    env.SetFailing(true);
    number = FillUntilItFails(database.get(), number);
    env.SetFailing(false);
    CHECK(PutAgain(database.get(), number).ok());
  }
  stop = true;
  reader.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace waggle
