#include "replay_server/rows/row_source.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// Ten chunks of one row. Column "c" is compressed; its row i is 100 times the i-th letter.
struct Fixture {
  Fixture() {
    std::string pieces;
    std::vector<uint32_t> sizes;
    for (int i = 0; i < 10; ++i) {
      const std::string row(100, static_cast<char>('a' + i));
      std::string piece(MaxCompressedBytes(Codec::kZstd, row.size()), '\0');
      sizes.push_back(static_cast<uint32_t>(Compress(Codec::kZstd, row.data(), row.size(), piece.data())));
      pieces.append(piece, 0, sizes.back());
    }
    block = MakeChunks(layout, std::vector<uint32_t>(10, 1), 1, sizes);
    std::memset(block.data, 'p', 10 * 2);
    std::memcpy(block.data + 20, pieces.data(), pieces.size());
    REQUIRE(block.bytes == 20 + pieces.size());
  }

  const std::shared_ptr<const RowLayout> layout =
      std::make_shared<RowLayout>(std::vector<ArraySpec>{{"c", DType::kUint8, {100}}, {"plain", DType::kUint8, {2}}},
                                  std::vector<Codec>{Codec::kZstd, Codec::kNone});
  NewBlock block;
};

}  // namespace

TEST_CASE("rows of compressed columns are read like any others", "[unit]") {
  Fixture f;
  RowSource source(*f.layout);
  for (const size_t i : {0, 1, 2, 3, 4, 5, 0, 1, 9, 9, 5, 2}) {
    const std::string row(source.Row(*f.block.chunks[i], 0, 0), 100);
    REQUIRE(row == std::string(100, static_cast<char>('a' + i)));
    REQUIRE(std::string(source.Row(*f.block.chunks[i], 1, 0), 2) == "pp");
  }
  REQUIRE_OK(source.status());
}

TEST_CASE("a damaged piece is reported, and the others are read", "[unit]") {
  Fixture f;
  f.block.data[20] = 'x';  // The first byte of the first piece.
  RowSource source(*f.layout);
  REQUIRE(std::string(source.Row(*f.block.chunks[0], 0, 0), 100) == std::string(100, '\0'));
  REQUIRE_CODE(source.status(), absl::StatusCode::kDataLoss);
  REQUIRE(std::string(source.Row(*f.block.chunks[1], 0, 0), 100) == std::string(100, 'b'));
}

}  // namespace waggle
