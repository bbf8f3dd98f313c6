#include "param_server/experiments/sqlite_database.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::FullDisk;
using testing::TemporaryFolder;
using testing::ValueOf;

constexpr SqliteFormat kFormat = {7, 2, "CREATE TABLE texts (text BLOB PRIMARY KEY) STRICT"};

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::vector<std::string> Texts(SqliteDatabase* database) {
  SqliteStatement statement(database, "SELECT text FROM texts ORDER BY text");
  std::vector<std::string> texts;
  while (ValueOf(statement.Step())) {
    texts.push_back(statement.TakeBytes());
  }
  return texts;
}

absl::Status Insert(SqliteDatabase* database, const std::string& text) {
  return SqliteStatement(database, "INSERT INTO texts VALUES (?1)").Bind(text).Run();
}

// A file in which the rows of a table need several pages.
void Fill(const std::string& path) {
  const auto database = ValueOf(SqliteDatabase::Open(path, kFormat));
  SqliteTransaction transaction(database.get());
  REQUIRE_OK(transaction.Begin());
  for (int i = 0; i < 300; ++i) {
    REQUIRE_OK(Insert(database.get(), std::to_string(i) + std::string(100, 'x')));
  }
  REQUIRE_OK(transaction.Commit());
}

// Opens and reads like a program that trusts the file.
absl::Status Use(const std::string& path) {
  const auto database = SqliteDatabase::Open(path, kFormat);
  if (!database.ok()) {
    return database.status();
  }
  SqliteStatement statement(database->get(), "SELECT text FROM texts");
  return statement.Run();
}

// Drops root's rights over files, if the tests run as root.
class NoPrivileges {
 public:
  NoPrivileges() : dropped_(geteuid() == 0 && seteuid(65534) == 0) {}
  ~NoPrivileges() {
    if (dropped_) {
      REQUIRE(seteuid(0) == 0);
    }
  }
  NoPrivileges(const NoPrivileges&) = delete;
  NoPrivileges& operator=(const NoPrivileges&) = delete;

 private:
  const bool dropped_;
};

TEST_CASE("Committed rows are there when a database is opened again", "[unit]") {
  const TemporaryFolder folder;
  const std::string every_byte("\0\1'\"\\\xff\xfe\0", 8);
  {
    const auto database = ValueOf(SqliteDatabase::Open(folder.File("d"), kFormat));
    REQUIRE_OK(Insert(database.get(), every_byte));
    REQUIRE_OK(Insert(database.get(), ""));
    SqliteTransaction transaction(database.get());
    REQUIRE_OK(transaction.Begin());
    REQUIRE_OK(Insert(database.get(), "rolled back"));
  }
  const auto database = ValueOf(SqliteDatabase::Open(folder.File("d"), kFormat));
  CHECK(Texts(database.get()) == std::vector<std::string>{"", every_byte});
}

TEST_CASE("A closed database is one file", "[unit]") {
  const TemporaryFolder folder;
  Fill(folder.File("d"));
  const std::filesystem::directory_iterator files(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("A wrong statement is an error that names the file", "[unit]") {
  const TemporaryFolder folder;
  const auto database = ValueOf(SqliteDatabase::Open(folder.File("d"), kFormat));
  const absl::Status status = SqliteStatement(database.get(), "SELECT x FROM y").Bind(1).Bind("a").Run();
  REQUIRE_CODE(status, absl::StatusCode::kInternal);
  CHECK(absl::StrContains(status.message(), folder.File("d")));
  REQUIRE_CODE(database->Run("nonsense"), absl::StatusCode::kInternal);
}

TEST_CASE("A duplicate of a unique value is refused", "[unit]") {
  const TemporaryFolder folder;
  const auto database = ValueOf(SqliteDatabase::Open(folder.File("d"), kFormat));
  REQUIRE_OK(Insert(database.get(), "x"));
  REQUIRE_CODE(Insert(database.get(), "x"), absl::StatusCode::kAlreadyExists);
}

TEST_CASE("A database of another version or program is refused and not changed", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("d");
  Fill(path);
  const std::string before = Read(path);
  for (const SqliteFormat& other : {SqliteFormat{7, 1, ""}, SqliteFormat{7, 3, ""}, SqliteFormat{8, 2, ""}}) {
    const absl::Status status = SqliteDatabase::Open(path, other).status();
    REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
    CHECK(absl::StrContains(status.message(), path));
    CHECK(Read(path) == before);
  }
  SECTION("also one without an application_id") {
    {
      const auto database = ValueOf(SqliteDatabase::Open(path, kFormat));
      REQUIRE_OK(database->Run("PRAGMA application_id = 0; PRAGMA user_version = 0"));
    }
    REQUIRE_CODE(SqliteDatabase::Open(path, kFormat), absl::StatusCode::kFailedPrecondition);
  }
}

TEST_CASE("A file that is not a database is refused and not changed", "[unit]") {
  const TemporaryFolder folder;
  const std::string diary = "dear diary" + std::string(5000, '\n');
  Write(folder.File("d"), diary);
  REQUIRE_CODE(SqliteDatabase::Open(folder.File("d"), kFormat), absl::StatusCode::kDataLoss);
  CHECK(Read(folder.File("d")) == diary);
}

TEST_CASE("Overwritten pages and cut files are reported as damage", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("d");
  Fill(path);
  const std::string good = Read(path);
  constexpr size_t kPage = 4096;
  REQUIRE(good.size() > 4 * kPage);
  for (size_t begin = kPage; begin < good.size(); begin += kPage) {
    Write(path, std::string(good).replace(begin, kPage, kPage, '\xff'));
    const absl::Status status = SqliteDatabase::Open(path, kFormat).status();
    REQUIRE_CODE(status, absl::StatusCode::kDataLoss);
    CHECK(absl::StrContains(status.message(), path));
    Write(path, good.substr(0, begin));
    REQUIRE_CODE(SqliteDatabase::Open(path, kFormat), absl::StatusCode::kDataLoss);
  }
  Write(path, good);
  REQUIRE_OK(Use(path));
}

TEST_CASE("A changed byte anywhere does not crash the program", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("d");
  Fill(path);
  const std::string good = Read(path);
  // All bytes of the header and the schema, and some of the rows.
  for (size_t at = 0; at < good.size(); at += at < 200 ? 1 : 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(~bad[at]);
    Write(path, bad);
    const absl::Status status = Use(path);
    CHECK((status.ok() || absl::StrContains(status.message(), path)));
  }
}

TEST_CASE("A database that another process uses is refused until that process is killed", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("d");
  std::array<int, 2> opened;
  REQUIRE(pipe(opened.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto database = SqliteDatabase::Open(path, kFormat);
    const char result = database.ok() ? 'y' : 'n';
    if (write(opened[1], &result, 1) == 1) {
      pause();
    }
    _exit(1);
  }
  char result = 0;
  CHECK(read(opened[0], &result, 1) == 1);
  CHECK(result == 'y');
  const absl::Status status = SqliteDatabase::Open(path, kFormat).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(status.message(), path));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(opened[0]);
  close(opened[1]);
  const auto database = ValueOf(SqliteDatabase::Open(path, kFormat));
  REQUIRE_CODE(SqliteDatabase::Open(path, kFormat),
               absl::StatusCode::kUnavailable);  // Also refused within one process.
}

TEST_CASE("An error about a path names it", "[unit]") {
  const TemporaryFolder folder;
  const absl::Status missing = SqliteDatabase::Open(folder.File("none/d"), kFormat).status();
  REQUIRE_CODE(missing, absl::StatusCode::kNotFound);
  CHECK(absl::StrContains(missing.message(), folder.File("none/d")));
  const absl::Status is_folder = SqliteDatabase::Open(folder.path(), kFormat).status();
  CHECK_FALSE(is_folder.ok());
  CHECK(absl::StrContains(is_folder.message(), folder.path()));
}

TEST_CASE("A read-only file or folder is reported and not changed", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("d");
  Fill(path);
  const std::string before = Read(path);
  REQUIRE(chmod(folder.path().c_str(), 0555) == 0);
  const bool only_folder = GENERATE(false, true);
  REQUIRE(chmod(path.c_str(), only_folder ? 0666 : 0444) == 0);
  {
    const NoPrivileges none;
    if (geteuid() == 0) {
      WARN("not checked: root cannot become another user here");
      return;
    }
    REQUIRE_CODE(SqliteDatabase::Open(path, kFormat), absl::StatusCode::kPermissionDenied);
    REQUIRE_CODE(SqliteDatabase::Open(folder.File("new"), kFormat), absl::StatusCode::kPermissionDenied);
  }
  CHECK(Read(path) == before);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
}

TEST_CASE("A full disk never loses committed rows", "[unit]") {
  for (size_t largest_file = 0; largest_file < 90'000; largest_file += 1000) {
    const TemporaryFolder folder;
    const std::string path = folder.File("d");
    std::vector<std::string> committed;
    {
      const FullDisk full(largest_file);
      const auto database = SqliteDatabase::Open(path, kFormat);
      absl::Status status = database.status();
      for (int i = 10; status.ok(); ++i) {
        const std::string text = std::to_string(i) + std::string(4000, 'x');
        status = Insert(database->get(), text);
        if (status.ok()) {
          committed.push_back(text);
          continue;
        }
        CHECK(Texts(database->get()) == committed);
      }
      REQUIRE_CODE(status, absl::StatusCode::kResourceExhausted);
      CHECK(absl::StrContains(status.message(), path));
    }
    const auto database = ValueOf(SqliteDatabase::Open(path, kFormat));
    CHECK(Texts(database.get()) == committed);
    REQUIRE_OK(Insert(database.get(), "there is room again"));
  }
}

TEST_CASE("A database goes on once a full disk has room again", "[unit]") {
  const TemporaryFolder folder;
  const auto database = ValueOf(SqliteDatabase::Open(folder.File("d"), kFormat));
  REQUIRE_OK(Insert(database.get(), "before"));
  {
    const FullDisk full(50'000);
    REQUIRE_CODE(Insert(database.get(), std::string(100'000, 'x')), absl::StatusCode::kResourceExhausted);
  }
  REQUIRE_OK(Insert(database.get(), std::string(100'000, 'y')));
  CHECK(Texts(database.get()) == std::vector<std::string>{"before", std::string(100'000, 'y')});
}

}  // namespace
}  // namespace waggle
