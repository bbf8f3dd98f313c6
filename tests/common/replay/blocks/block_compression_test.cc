#include "common/replay/blocks/block_compression.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/slices.h"

namespace waggle {
namespace {

const std::vector<ArraySpec>& Signature() {
  static const std::vector<ArraySpec> signature = {
      {"frame", DType::kUint8, {100}}, {"reward", DType::kFloat32, {}}, {"noise", DType::kUint8, {3}}};
  return signature;
}

// Two chunks of 2 and 1 rows. The frames compress, the noise does not.
InsertBlock Block(std::string* raw) {
  raw->assign(3 * 100, 'f');
  raw->append("1111222233333");
  raw->append("abcdefg", 3 * 107 - raw->size());
  raw->resize(3 * 107, 'z');
  InsertBlock block;
  block.chunks = {{0, 0, 2}, {1, 5, 1}};
  block.data = testing::InTwoSlices(*raw);
  return block;
}

}  // namespace

TEST_CASE("compressed columns travel behind the others, piece by piece", "[unit]") {
  std::string raw;
  InsertBlock block = Block(&raw);
  const std::vector<Codec> codecs = ColumnCodecs(Signature(), {{"noise", Codec::kZstd}, {"frame", Codec::kLz4}});
  REQUIRE(codecs == std::vector<Codec>{Codec::kLz4, Codec::kNone, Codec::kZstd});
  REQUIRE_OK(CompressBlock(Signature(), codecs, &block));
  REQUIRE(block.compressed_bytes.size() == 4);
  REQUIRE(block.compressed_bytes[0] < 200);
  REQUIRE(block.compressed_bytes[1] < 100);
  REQUIRE(block.compressed_bytes[2] == 6);  // Not compressed: it would not get shorter.
  REQUIRE(block.compressed_bytes[3] == 3);
  const std::string bytes = testing::BytesOf(block.data);
  REQUIRE(bytes.size() == 12 + block.compressed_bytes[0] + block.compressed_bytes[1] + 9);
  REQUIRE(bytes.substr(0, 12) == raw.substr(300, 12));
  std::string frames(200, '\0');
  REQUIRE_OK(Decompress(Codec::kLz4, bytes.data() + 12, block.compressed_bytes[0], frames.data(), 200));
  REQUIRE(frames == raw.substr(0, 200));
  REQUIRE(bytes.substr(bytes.size() - 9) == raw.substr(312));
}

TEST_CASE("a block without compressed columns, or without rows, stays as it is", "[unit]") {
  std::string raw;
  InsertBlock block = Block(&raw);
  const void* before = block.data.slices()[0].data;
  REQUIRE_OK(CompressBlock(Signature(), ColumnCodecs(Signature(), {}), &block));
  REQUIRE(block.compressed_bytes.empty());
  REQUIRE(block.data.slices()[0].data == before);
  REQUIRE(testing::BytesOf(block.data) == raw);
  InsertBlock empty;
  REQUIRE_OK(CompressBlock(Signature(), ColumnCodecs(Signature(), {{"frame", Codec::kLz4}}), &empty));
  REQUIRE(empty.compressed_bytes.empty());
}

TEST_CASE("a block of another size than its rows, or of too many bytes to count, is not compressed", "[unit]") {
  std::string raw;
  InsertBlock wrong = Block(&raw);
  wrong.chunks[1].rows = 2;
  REQUIRE_CODE(CompressBlock(Signature(), ColumnCodecs(Signature(), {{"frame", Codec::kLz4}}), &wrong),
               absl::StatusCode::kInvalidArgument);
  const std::vector<ArraySpec> signature = {
      {"a", DType::kUint8, {int64_t{1} << 39}}, {"b", DType::kUint8, {int64_t{1} << 39}}, {"c", DType::kUint8, {}}};
  InsertBlock block;
  for (uint32_t i = 0; i < 16; ++i) {
    block.chunks.push_back({0, i << 20, 1U << 20});  // 2^24 rows: those of a and of b have 2^63 bytes.
  }
  const std::shared_ptr<char> bytes = AllocateBytes(1 << 24);
  block.data.Append({bytes.get(), 1 << 24, bytes});
  REQUIRE_CODE(CompressBlock(signature, ColumnCodecs(signature, {{"c", Codec::kLz4}}), &block),
               absl::StatusCode::kInvalidArgument);
}

}  // namespace waggle
