#include "common/base/atomic_file.h"

#include <cerrno>
#include <filesystem>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ValueOf;

TEST_CASE("A file is replaced as a whole and leaves nothing beside it", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("f");
  REQUIRE_OK(WriteFileAtomically(path, "first, and longer"));
  REQUIRE_OK(WriteFileAtomically(path, "second"));
  CHECK(ValueOf(ReadSmallFile(path, 100)) == "second");
  REQUIRE_OK(WriteFileAtomically(path, ""));
  CHECK(ValueOf(ReadSmallFile(path, 0)).empty());
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  CHECK(files == 1);
}

TEST_CASE("A file that cannot be written or read is an error that names it", "[unit]") {
  const testing::TemporaryFolder folder;
  const absl::Status missing = WriteFileAtomically(folder.File("no/such/f"), "x");
  CHECK(missing.code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(missing.message()), Catch::Contains(folder.File("no/such/f")));
  CHECK(ReadSmallFile(folder.File("f"), 100).status().code() == absl::StatusCode::kNotFound);
  CHECK_FALSE(ReadSmallFile(folder.path(), 100).ok());
  REQUIRE_OK(WriteFileAtomically(folder.File("f"), std::string(10'000, 'x')));
  CHECK(ReadSmallFile(folder.File("f"), 9'999).status().code() == absl::StatusCode::kResourceExhausted);
  CHECK(ValueOf(ReadSmallFile(folder.File("f"), 10'000)).size() == 10'000);

  std::filesystem::create_directory(folder.File("folder"));
  CHECK_FALSE(WriteFileAtomically(folder.File("folder"), "x").ok());
}

TEST_CASE("Errors of the file system have codes of ours", "[unit]") {
  CHECK(FileError(ENOENT, "p", "read").code() == absl::StatusCode::kNotFound);
  CHECK(FileError(EROFS, "p", "read").code() == absl::StatusCode::kPermissionDenied);
  CHECK(FileError(ENOSPC, "p", "read").code() == absl::StatusCode::kResourceExhausted);
  CHECK(FileError(EIO, "p", "read").code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(FileError(ENOENT, "p", "read").message()), Catch::StartsWith("p: cannot read: "));
}

}  // namespace
}  // namespace waggle
