#include "common/base/metrics/tensorboard_writer.h"

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;
using testing::FullDisk;
using testing::TemporaryFolder;

// The first record: its framing of 16 bytes, the time (9), the step (2) and the version (15).
constexpr size_t kFirstRecordSize = 42;

// Recorded from a file that TensorBoard 2's EventAccumulator read back as these points.
TEST_CASE("a file has the bytes that TensorBoard reads", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = std::make_unique<TensorBoardWriter>(folder.path());
  REQUIRE_OK(writer->Append(300, 1700000000.5, {{"learner/loss", 0.25}}));
  REQUIRE_OK(writer->Append(-1, 0, {{"x", -1.5}}));
  REQUIRE_OK(writer->Flush());
  const std::string bytes = Contents(writer->path());
  REQUIRE(bytes.size() > kFirstRecordSize);
  CHECK(bytes.substr(0, 12) == absl::HexStringToBytes("1a00000000000000129bd82d"));
  CHECK(bytes.substr(21, 17) == absl::HexStringToBytes("1000") +
                                    "\x1a\x0d"
                                    "brain.Event:2");
  CHECK(absl::BytesToHexString(bytes.substr(kFirstRecordSize)) ==
        "2300000000000000b09f77430900002040fc54d94110ac022a150a130a0c6c6561726e65722f6c6f7373150000803e79de30"
        "b8200000000000000029eda95009000000000000000010ffffffffffffffffff012a0a0a080a0178150000c0bfc6c16cfb");
}

TEST_CASE("each writer has a file of its own, with a name that TensorBoard looks for", "[unit]") {
  const TemporaryFolder folder;
  const auto a = std::make_unique<TensorBoardWriter>(folder.path());
  const auto b = std::make_unique<TensorBoardWriter>(folder.path());
  CHECK(absl::StartsWith(a->path(), folder.File("events.out.tfevents.")));
  CHECK(a->path() != b->path());
}

TEST_CASE("points are written when there are many, on a flush, and at the end", "[unit]") {
  const TemporaryFolder folder;
  auto writer = std::make_unique<TensorBoardWriter>(folder.path());
  const std::string path = writer->path();
  REQUIRE_OK(writer->Append(1, 1, {{"x", 1}}));
  CHECK(std::filesystem::file_size(path) == kFirstRecordSize);
  const auto one = static_cast<int64_t>(sizeof("0123456789abcdef"));
  for (int64_t i = 0; i < 65536 / one; ++i) {
    REQUIRE_OK(writer->Append(1, 1, {{"x", 1}}));
  }
  CHECK(std::filesystem::file_size(path) > 65536);
  REQUIRE_OK(writer->Flush());
  const auto before = std::filesystem::file_size(path);
  REQUIRE_OK(writer->Append(1, 1, {{"x", 1}}));
  writer.reset();
  CHECK(std::filesystem::file_size(path) > before);
}

TEST_CASE("a folder that cannot be written is an error that names it, and its points are kept", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = std::make_unique<TensorBoardWriter>(folder.File("later"));
  const auto reference = std::make_unique<TensorBoardWriter>(folder.path());
  REQUIRE_OK(writer->Append(1, 2, {{"x", 3}, {"y", 4}}));
  REQUIRE_OK(reference->Append(1, 2, {{"x", 3}, {"y", 4}}));
  REQUIRE_OK(reference->Flush());
  const absl::Status status = writer->Flush();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  CHECK(absl::StrContains(status.message(), folder.File("later")));
  std::filesystem::create_directory(folder.File("later"));
  REQUIRE_OK(writer->Flush());
  CHECK(Contents(writer->path()).substr(kFirstRecordSize) == Contents(reference->path()).substr(kFirstRecordSize));
}

TEST_CASE("points that could not be written are written later, each byte once", "[unit]") {
  const TemporaryFolder folder;
  const auto writer = std::make_unique<TensorBoardWriter>(folder.path());
  const auto reference = std::make_unique<TensorBoardWriter>(folder.path());
  REQUIRE_OK(writer->Append(1, 2, {{"x", 3}}));
  REQUIRE_OK(reference->Append(1, 2, {{"x", 3}}));
  REQUIRE_OK(reference->Flush());
  {
    const FullDisk full(kFirstRecordSize + 5);
    CHECK_FALSE(writer->Flush().ok());
    // TensorBoard reads no further than half a record.
    CHECK(std::filesystem::file_size(writer->path()) == kFirstRecordSize);
  }
  REQUIRE_OK(writer->Flush());
  CHECK(Contents(writer->path()).substr(kFirstRecordSize) == Contents(reference->path()).substr(kFirstRecordSize));
}

TEST_CASE("a file that is begun on a full disk has its first record once there is room", "[unit]") {
  const TemporaryFolder folder;
  std::unique_ptr<TensorBoardWriter> writer;
  {
    const FullDisk full(0);
    writer = std::make_unique<TensorBoardWriter>(folder.path());
  }
  REQUIRE_OK(writer->Flush());
  CHECK(std::filesystem::file_size(writer->path()) == kFirstRecordSize);
}

}  // namespace
}  // namespace waggle
