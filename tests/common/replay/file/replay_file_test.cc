#include "common/replay/file/replay_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/tensor/checksum.h"
#include "common/replay/table_config_convert.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/slices.h"
#include "tests/support/temporary_folder.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {
namespace {

using testing::BytesOf;
using testing::Contents;
using testing::SimpleBlock;
using testing::SimpleTable;
using testing::ValueOf;

// A file of three blocks with 5, 1 and 40 items.
void WriteSample(const std::string& path) {
  const auto writer = ValueOf(ReplayFileWriter::Create(path, SimpleTable("t"), 46));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 5)));
  InsertBlock block = SimpleBlock(5, 1);
  block.policy_version = 7;
  block.chunks[0].begins = true;
  block.items[0].priority = 2.5;
  REQUIRE_OK(writer->Append(block));
  REQUIRE_OK(writer->Append(SimpleBlock(6, 40)));
  REQUIRE_OK(writer->Finish());
  REQUIRE(writer->items() == 46);
  REQUIRE(writer->bytes() == Contents(path).size());
}

// Reads the file to its end, and returns the error.
absl::Status ReadAll(const std::string& path) {
  const auto reader = ReplayFileReader::Open(path);
  if (!reader.ok()) {
    return reader.status();
  }
  for (;;) {
    const auto block = (*reader)->Next();
    if (!block.ok()) {
      return block.status();
    }
    if (!block->has_value()) {
      return absl::OkStatus();
    }
  }
}

TEST_CASE("Blocks come out of a file as they went in", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.waggle";
  WriteSample(path);
  const auto reader = ValueOf(ReplayFileReader::Open(path));
  CHECK(Differences(reader->config(), SimpleTable("t")).empty());
  CHECK(reader->items() == 46);
  CHECK(BytesOf(ValueOf(reader->Next())->data) == BytesOf(SimpleBlock(0, 5).data));
  const InsertBlock second = *ValueOf(reader->Next());
  CHECK(second.policy_version == 7);
  CHECK(second.chunks[0].begins);
  CHECK(second.items[0].priority == 2.5);
  CHECK(BytesOf(ValueOf(reader->Next())->data) == BytesOf(SimpleBlock(6, 40).data));
  CHECK(!ValueOf(reader->Next()).has_value());
  CHECK(!ValueOf(reader->Next()).has_value());
}

TEST_CASE("A file has its name only when it is complete, and replaces no other", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.waggle";
  {
    const auto writer = ValueOf(ReplayFileWriter::Create(path, SimpleTable("t"), 5));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 5)));
    REQUIRE_CODE(ReplayFileReader::Open(path).status(), absl::StatusCode::kNotFound);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  std::filesystem::create_symlink(folder.File("nowhere"), folder.File("link"));
  REQUIRE_CODE(ReplayFileWriter::Create(folder.File("link"), SimpleTable("t"), 5), absl::StatusCode::kAlreadyExists);
  std::ofstream(path + ".partial") << "of an older version";
  const auto slower = ValueOf(ReplayFileWriter::Create(path, SimpleTable("t"), 5));
  REQUIRE_OK(slower->Append(SimpleBlock(0, 5)));
  WriteSample(path);
  REQUIRE_CODE(slower->Finish(), absl::StatusCode::kAlreadyExists);
  REQUIRE_CODE(ReplayFileWriter::Create(path, SimpleTable("t"), 5).status(), absl::StatusCode::kAlreadyExists);
  REQUIRE_OK(ReadAll(path));
}

TEST_CASE("A changed or missing byte is noticed anywhere", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.waggle";
  WriteSample(path);
  const std::string good = Contents(path);
  const std::string damaged = folder.path() + "/b.waggle";
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    std::ofstream(damaged, std::ios::binary) << bytes;
    CAPTURE(at);
    const absl::StatusCode code = ReadAll(damaged).code();
    REQUIRE(code == (at < 12 ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kDataLoss));
  }
  for (size_t size = 0; size < good.size(); ++size) {
    std::ofstream(damaged, std::ios::binary) << good.substr(0, size);
    CAPTURE(size);
    REQUIRE(!ReadAll(damaged).ok());
  }
  std::ofstream(damaged, std::ios::binary) << good << 'x';
  REQUIRE_CODE(ReadAll(damaged), absl::StatusCode::kDataLoss);
}

// The records of a file, each with its head.
std::vector<std::string> Records(const std::string& bytes) {
  std::vector<std::string> records;
  for (size_t at = 12; at < bytes.size();) {
    uint64_t stored = 0;
    std::memcpy(&stored, bytes.data() + at + 8, sizeof(stored));
    records.push_back(bytes.substr(at, 32 + stored));
    at += 32 + stored;
  }
  return records;
}

TEST_CASE("Records that are missing, or not in their order, are damage", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.waggle";
  WriteSample(path);
  const std::string good = Contents(path);
  const std::vector<std::string> records = Records(good);
  REQUIRE(records.size() == 5);
  const std::string start = good.substr(0, 12);
  for (const std::string& bytes :
       {good + good, start + records[1], start + records[0] + records[2] + records[1] + records[3] + records[4],
        start + records[0] + records[1] + records[2] + records[4]}) {
    std::ofstream(path, std::ios::binary) << bytes;
    REQUIRE_CODE(ReadAll(path), absl::StatusCode::kDataLoss);
  }
}

// A file of these records, unchanged, with right checksums.
void WriteRecords(const std::string& path, const std::vector<std::pair<uint32_t, std::string>>& records) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](const auto& value) { file.write(reinterpret_cast<const char*>(&value), sizeof(value)); };
  file << "WAGGLERP";
  put(uint32_t{1});
  for (const auto& [kind, payload] : records) {
    const uint64_t sizes[] = {payload.size(), payload.size()};
    const uint32_t kinds[] = {kind, 0};
    Checksummer checksum;
    checksum.Update(kinds, sizeof(kinds));
    checksum.Update(sizes, sizeof(sizes));
    checksum.Update(payload.data(), payload.size());
    put(kinds);
    put(sizes);
    put(checksum.Digest());
    file << payload;
  }
}

TEST_CASE("A file that was written wrongly is damaged, though its checksums are right", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.waggle";
  v1::ExportResponse header;
  *header.mutable_header()->mutable_config() = ToProto(SimpleTable("t"));
  SECTION("its header is not a message") {
    WriteRecords(path, {{1, "\xff"}});
  }
  SECTION("its table is invalid") {
    header.mutable_header()->mutable_config()->set_max_items(-1);
    WriteRecords(path, {{1, header.SerializeAsString()}});
  }
  SECTION("a block is not a message") {
    WriteRecords(path, {{1, header.SerializeAsString()}, {2, "\xff"}});
  }
  SECTION("the lists of a block have different lengths") {
    v1::ExportResponse block;
    block.mutable_block()->set_sequence(1);
    block.mutable_block()->add_chunk_rows(1);
    WriteRecords(path, {{1, header.SerializeAsString()}, {2, block.SerializeAsString()}});
  }
  REQUIRE_CODE(ReadAll(path), absl::StatusCode::kDataLoss);
}

TEST_CASE("A file of another kind or version is refused", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  std::ofstream(path) << "name: this is a configuration, and longer than a few bytes";
  REQUIRE_CODE(ReadAll(path), absl::StatusCode::kFailedPrecondition);
  std::ofstream(path, std::ios::binary) << std::string("WAGGLERP\x02\0\0\0", 12);
  REQUIRE_CODE(ReadAll(path), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(ReadAll(folder.path() + "/none"), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace waggle
