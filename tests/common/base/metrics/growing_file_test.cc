#include "common/base/metrics/growing_file.h"

#include <fcntl.h>

#include <memory>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;
using testing::FullDisk;
using testing::TemporaryFolder;

std::unique_ptr<GrowingFile> Open(const std::string& path) {
  return std::make_unique<GrowingFile>(testing::ValueOf(File::Open(path, O_WRONLY | O_CREAT)), 0);
}

TEST_CASE("pieces that do not fit are written later, each byte once", "[unit]") {
  const TemporaryFolder folder;
  const auto file = Open(folder.File("f"));
  REQUIRE_OK(file->Add("one"));
  REQUIRE_OK(file->Flush());
  {
    const FullDisk full(5);
    REQUIRE_OK(file->Add("two"));
    CHECK_FALSE(file->Flush().ok());
    CHECK(Contents(folder.File("f")) == "one");
    REQUIRE_OK(file->Add("three"));
    CHECK_FALSE(file->Flush().ok());
    CHECK(file->kept_bytes() == 8);
  }
  REQUIRE_OK(file->Flush());
  CHECK(file->kept_bytes() == 0);
  CHECK(Contents(folder.File("f")) == "onetwothree");
}

TEST_CASE("kept bytes have a bound, beyond which pieces are refused until there is room", "[unit]") {
  const TemporaryFolder folder;
  const auto file = Open(folder.File("f"));
  const std::string piece(1 << 20, 'x');
  {
    const FullDisk full(5);
    for (int i = 0; i < 17; ++i) {
      REQUIRE_OK(file->Add(piece));
    }
    CHECK_THAT(std::string(file->MakeRoom().message()), Catch::StartsWith("16 MiB are kept"));
    CHECK_FALSE(file->Add(piece).ok());
    CHECK(file->kept_bytes() == 17 * piece.size());
  }
  REQUIRE_OK(file->Add(piece));
  CHECK(Contents(folder.File("f")).size() == 17 * piece.size());
}

TEST_CASE("kept pieces are written at the end", "[unit]") {
  const TemporaryFolder folder;
  auto file = Open(folder.File("f"));
  REQUIRE_OK(file->Add("last"));
  file.reset();
  CHECK(Contents(folder.File("f")) == "last");
}

}  // namespace
}  // namespace waggle
