#include "common/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/failpoint.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

void Write(const std::string& path, absl::string_view bytes) {
  File file = ValueOf(File::Create(path));
  REQUIRE_OK(file.Append(bytes));
  REQUIRE_OK(file.Sync());
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names = ValueOf(ListFolder(folder));
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("A file is replaced as a whole and leaves nothing beside it", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("f");
  REQUIRE_OK(WriteFileAtomically(path, "first, and longer"));
  REQUIRE_OK(WriteFileAtomically(path, "second"));
  CHECK(ValueOf(ReadSmallFile(path, 100)) == "second");
  REQUIRE_OK(WriteFileAtomically(path, ""));
  CHECK(ValueOf(ReadSmallFile(path, 0)).empty());
  CHECK(Names(folder.path()) == std::vector<std::string>{"f"});
}

TEST_CASE("A file that cannot be written or read is an error that names it", "[unit]") {
  const TemporaryFolder folder;
  const absl::Status missing = WriteFileAtomically(folder.File("no/such/f"), "x");
  CHECK(missing.code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(missing.message()), Catch::Contains(folder.File("no/such/f")));
  CHECK(ReadSmallFile(folder.File("f"), 100).status().code() == absl::StatusCode::kNotFound);
  CHECK_FALSE(ReadSmallFile(folder.path(), 100).ok());
  REQUIRE_OK(WriteFileAtomically(folder.File("f"), std::string(20'000, 'x')));
  CHECK(ReadSmallFile(folder.File("f"), 19'999).status().code() == absl::StatusCode::kResourceExhausted);
  CHECK(ValueOf(ReadSmallFile(folder.File("f"), 20'000)).size() == 20'000);

  std::filesystem::create_directory(folder.File("folder"));
  CHECK_FALSE(WriteFileAtomically(folder.File("folder"), "x").ok());
  CHECK(Names(folder.path()) == std::vector<std::string>{"f", "folder"});
}

TEST_CASE("Errors of the file system have codes of ours", "[unit]") {
  CHECK(FileError(ENOENT, "p", "read").code() == absl::StatusCode::kNotFound);
  CHECK(FileError(EEXIST, "p", "read").code() == absl::StatusCode::kAlreadyExists);
  CHECK(FileError(EROFS, "p", "read").code() == absl::StatusCode::kPermissionDenied);
  CHECK(FileError(ENOSPC, "p", "read").code() == absl::StatusCode::kResourceExhausted);
  CHECK(FileError(EMFILE, "p", "read").code() == absl::StatusCode::kResourceExhausted);
  CHECK(FileError(EIO, "p", "read").code() == absl::StatusCode::kDataLoss);
  CHECK(FileError(ENOTDIR, "p", "read").code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(FileError(ENOENT, "p", "read").message()), Catch::StartsWith("p: cannot read: "));
}

TEST_CASE("A file reads as it was written", "[unit]") {
  const TemporaryFolder folder;
  // More than one transfer.
  std::string bytes((size_t{1} << 26) + 5, 'x');
  bytes.back() = 'y';
  Write(folder.File("f"), bytes);
  File file = ValueOf(File::OpenToRead(folder.File("f")));
  const auto size = static_cast<int64_t>(bytes.size());
  REQUIRE(ValueOf(file.Size()) == size);
  std::string read(bytes.size(), '\0');
  REQUIRE_OK(file.Read(read.data(), 3));
  REQUIRE_OK(file.Read(read.data() + 3, size - 3));
  CHECK(read == bytes);
  REQUIRE_CODE(file.Read(read.data(), 1), absl::StatusCode::kDataLoss);
  CHECK(ValueOf(file.ReadAt(size - 2, 2)) == "xy");
  CHECK(ValueOf(file.ReadAt(size - 1, 9)) == "y");
}

TEST_CASE("A file is written anywhere and cut", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("f"), "abcdef");
  File file = ValueOf(File::Open(folder.File("f"), O_RDWR));
  REQUIRE_OK(file.WriteAt(2, "XY"));
  REQUIRE_OK(file.Truncate(5));
  CHECK(ValueOf(ReadSmallFile(folder.File("f"), 9)) == "abXYe");
}

TEST_CASE("A file is created only if the path is free", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("f"), "1");
  REQUIRE_CODE(File::Create(folder.File("f")), absl::StatusCode::kAlreadyExists);
  const absl::Status status = File::Create(folder.File("none/f")).status();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  CHECK(absl::StrContains(status.message(), folder.File("none/f")));
}

TEST_CASE("Only regular files are opened to be read", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("f"), "1");
  REQUIRE_CODE(File::OpenToRead(folder.File("none")), absl::StatusCode::kNotFound);
  REQUIRE(symlink(folder.File("f").c_str(), folder.File("link").c_str()) == 0);
  CHECK_FALSE(File::OpenToRead(folder.File("link")).ok());
  REQUIRE(mkfifo(folder.File("pipe").c_str(), 0600) == 0);
  REQUIRE_CODE(ValueOf(File::OpenToRead(folder.File("pipe"))).Size(), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(ValueOf(File::OpenToRead(folder.path())).Size(), absl::StatusCode::kDataLoss);
}

TEST_CASE("Folders are created with their parents", "[unit]") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.File("a/b/c"), folder.File("a/b/c"), folder.File("a/d/")}) {
    REQUIRE_OK(CreateFolders(path));
    CHECK(std::filesystem::is_directory(path));
  }
  REQUIRE_OK(CreateFolders("/"));
  REQUIRE_OK(CreateFolders("."));
  Write(folder.File("f"), "1");
  REQUIRE_CODE(CreateFolders(folder.File("f")), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(CreateFolders(folder.File("f/g")), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(CreateFolder(folder.File("a")), absl::StatusCode::kAlreadyExists);
  REQUIRE_CODE(CreateFolder(folder.File("x/y")), absl::StatusCode::kNotFound);
}

TEST_CASE("A folder is locked once, until the lock is gone", "[unit]") {
  const TemporaryFolder parent;
  const std::string folder = parent.File("a/b");
  File lock = ValueOf(LockFolder(folder, "LOCK", "it is mine"));
  const absl::Status status = LockFolder(folder, "LOCK", "it is mine").status();
  REQUIRE_CODE(status, absl::StatusCode::kUnavailable);
  CHECK(status.message() == folder + ": it is mine");
  lock = File();
  REQUIRE_OK(LockFolder(folder, "LOCK", "it is mine"));
}

TEST_CASE("A lock knows if its file was removed or replaced", "[unit]") {
  const TemporaryFolder folder;
  const File lock = ValueOf(LockFolder(folder.path(), "LOCK", "taken"));
  CHECK(lock.InPlace());
  REQUIRE_OK(RemoveAll(folder.File("LOCK")));
  CHECK_FALSE(lock.InPlace());
  const File other = ValueOf(LockFolder(folder.path(), "LOCK", "taken"));
  CHECK_FALSE(lock.InPlace());
  CHECK(other.InPlace());
}

TEST_CASE("A folder's names are listed, moved and removed", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(CreateFolders(folder.File("a/b")));
  Write(folder.File("a/f"), "1");
  Write(folder.File("a/b/g"), "2");
  REQUIRE_OK(SyncFolder(folder.File("a")));
  CHECK(Names(folder.File("a")) == std::vector<std::string>{"b", "f"});

  REQUIRE_OK(Rename(folder.File("a"), folder.File("z")));
  CHECK(std::filesystem::exists(folder.File("z/b/g")));
  REQUIRE_CODE(Rename(folder.File("a"), folder.File("y")), absl::StatusCode::kNotFound);
  REQUIRE_CODE(ListFolder(folder.File("a")), absl::StatusCode::kNotFound);
  REQUIRE_CODE(SyncFolder(folder.File("a")), absl::StatusCode::kNotFound);

  REQUIRE_OK(RemoveAll(folder.File("z")));
  CHECK_FALSE(std::filesystem::exists(folder.File("z")));
  REQUIRE_OK(RemoveAll(folder.File("z")));
}

TEST_CASE("A rename never replaces a file", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(CreateFolders(folder.File("a")));
  REQUIRE_OK(CreateFolders(folder.File("b/c")));
  REQUIRE_CODE(Rename(folder.File("a"), folder.File("b")), absl::StatusCode::kAlreadyExists);
}

#ifdef WAGGLE_FAILPOINTS_ENABLED
TEST_CASE("A file that cannot be replaced keeps its text, and nothing is left beside it", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(WriteFileAtomically(folder.File("f"), "first"));
  const std::string failing = GENERATE("file.create", "file.write", "file.sync", "file.rename");
  REQUIRE_OK(SetFailpoints(failing + "=error(no space)"));
  CHECK_FALSE(WriteFileAtomically(folder.File("f"), "second").ok());
  REQUIRE_OK(SetFailpoints(""));
  CHECK(ValueOf(ReadSmallFile(folder.File("f"), 100)) == "first");
  CHECK(Names(folder.path()) == std::vector<std::string>{"f"});
}

TEST_CASE("A file is replaced only once its new name is on the device", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(SetFailpoints("folder.sync=error(a broken disk)"));
  CHECK_FALSE(WriteFileAtomically(folder.File("f"), "text").ok());
  REQUIRE_OK(SetFailpoints(""));
}
#endif

}  // namespace
}  // namespace waggle
