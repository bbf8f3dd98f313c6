#include "common/checkpoint/file_system.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

void Write(const std::string& path, absl::string_view bytes) {
  const auto file = ValueOf(PosixFileSystem()->CreateFile(path));
  REQUIRE_OK(file->Append(bytes));
  REQUIRE_OK(file->Sync());
  REQUIRE_OK(file->Close());
}

TEST_CASE("a file reads as it was written", "[unit]") {
  const TemporaryFolder folder;
  // More than one transfer.
  std::string bytes((size_t{1} << 26) + 5, 'x');
  bytes.back() = 'y';
  Write(folder.File("f"), bytes);
  const auto file = ValueOf(PosixFileSystem()->OpenFile(folder.File("f")));
  REQUIRE(ValueOf(file->Size()) == static_cast<int64_t>(bytes.size()));
  std::string read(bytes.size(), '\0');
  REQUIRE_OK(file->Read(read.data(), 3));
  REQUIRE_OK(file->Read(read.data() + 3, static_cast<int64_t>(read.size()) - 3));
  CHECK(read == bytes);
  REQUIRE_CODE(file->Read(read.data(), 1), absl::StatusCode::kDataLoss);
}

TEST_CASE("a file is created only where none is", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("f"), "1");
  REQUIRE_CODE(PosixFileSystem()->CreateFile(folder.File("f")), absl::StatusCode::kAlreadyExists);
  const absl::Status status = PosixFileSystem()->CreateFile(folder.File("none/f")).status();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  CHECK(absl::StrContains(status.message(), folder.File("none/f")));
}

TEST_CASE("only regular files are read", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("f"), "1");
  REQUIRE_CODE(PosixFileSystem()->OpenFile(folder.File("none")), absl::StatusCode::kNotFound);
  REQUIRE(symlink(folder.File("f").c_str(), folder.File("link").c_str()) == 0);
  CHECK_FALSE(PosixFileSystem()->OpenFile(folder.File("link")).ok());
  REQUIRE(mkfifo(folder.File("pipe").c_str(), 0600) == 0);
  REQUIRE_CODE(ValueOf(PosixFileSystem()->OpenFile(folder.File("pipe")))->Size(), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ValueOf(PosixFileSystem()->OpenFile(folder.path()))->Size(), absl::StatusCode::kDataLoss);
}

TEST_CASE("folders are created with their parents", "[unit]") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.File("a/b/c"), folder.File("a/b/c"), folder.File("a/d/")}) {
    REQUIRE_OK(PosixFileSystem()->CreateFolders(path));
    CHECK(std::filesystem::is_directory(path));
  }
  REQUIRE_OK(PosixFileSystem()->CreateFolders("/"));
  REQUIRE_OK(PosixFileSystem()->CreateFolders("."));
  Write(folder.File("f"), "1");
  REQUIRE_CODE(PosixFileSystem()->CreateFolders(folder.File("f")), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(PosixFileSystem()->CreateFolders(folder.File("f/g")), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(PosixFileSystem()->CreateFolder(folder.File("a")), absl::StatusCode::kAlreadyExists);
  REQUIRE_CODE(PosixFileSystem()->CreateFolder(folder.File("x/y")), absl::StatusCode::kNotFound);
}

TEST_CASE("a file is locked once, until the lock is gone", "[unit]") {
  const TemporaryFolder folder;
  auto lock = ValueOf(PosixFileSystem()->LockFile(folder.File("LOCK")));
  REQUIRE_CODE(PosixFileSystem()->LockFile(folder.File("LOCK")), absl::StatusCode::kUnavailable);
  lock.reset();
  REQUIRE_OK(PosixFileSystem()->LockFile(folder.File("LOCK")));
  REQUIRE_CODE(PosixFileSystem()->LockFile(folder.File("missing/LOCK")), absl::StatusCode::kNotFound);
}

TEST_CASE("a lock knows when its file is gone or another one", "[unit]") {
  const TemporaryFolder folder;
  const auto lock = ValueOf(PosixFileSystem()->LockFile(folder.File("LOCK")));
  CHECK(lock->InPlace());
  REQUIRE_OK(PosixFileSystem()->RemoveAll(folder.File("LOCK")));
  CHECK_FALSE(lock->InPlace());
  const auto other = ValueOf(PosixFileSystem()->LockFile(folder.File("LOCK")));
  CHECK_FALSE(lock->InPlace());
  CHECK(other->InPlace());
}

TEST_CASE("a folder's names are listed, moved and removed", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(PosixFileSystem()->CreateFolders(folder.File("a/b")));
  Write(folder.File("a/f"), "1");
  Write(folder.File("a/b/g"), "2");
  REQUIRE_OK(PosixFileSystem()->SyncFolder(folder.File("a")));
  std::vector<std::string> names = ValueOf(PosixFileSystem()->ListFolder(folder.File("a")));
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"b", "f"});

  REQUIRE_OK(PosixFileSystem()->Rename(folder.File("a"), folder.File("z")));
  CHECK(std::filesystem::exists(folder.File("z/b/g")));
  REQUIRE_CODE(PosixFileSystem()->Rename(folder.File("a"), folder.File("y")), absl::StatusCode::kNotFound);
  REQUIRE_CODE(PosixFileSystem()->ListFolder(folder.File("a")), absl::StatusCode::kNotFound);
  REQUIRE_CODE(PosixFileSystem()->SyncFolder(folder.File("a")), absl::StatusCode::kNotFound);

  REQUIRE_OK(PosixFileSystem()->RemoveAll(folder.File("z")));
  CHECK_FALSE(std::filesystem::exists(folder.File("z")));
  REQUIRE_OK(PosixFileSystem()->RemoveAll(folder.File("z")));
}

TEST_CASE("a folder is not moved over one that holds something", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(PosixFileSystem()->CreateFolders(folder.File("a")));
  REQUIRE_OK(PosixFileSystem()->CreateFolders(folder.File("b/c")));
  REQUIRE_CODE(PosixFileSystem()->Rename(folder.File("a"), folder.File("b")), absl::StatusCode::kAlreadyExists);
}

}  // namespace
}  // namespace waggle
