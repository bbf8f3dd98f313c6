#include "replay_server/service/batch_cutter.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/base/tensor/checksum.h"
#include "common/net/channel.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr auto kPiece = static_cast<size_t>(kPieceBytes);

// A batch in slices of odd sizes. Its first `noisy` bytes cannot be compressed; the others are all the same.
ByteSlices Batch(size_t noisy, size_t total) {
  const auto bytes = std::make_shared<std::string>(total, 'a');
  Rng rng(1);
  for (size_t i = 0; i < noisy; ++i) {
    (*bytes)[i] = static_cast<char>(rng.Uniform() * 256);
  }
  ByteSlices batch;
  for (size_t i = 0; i < total; i += 700'001) {
    batch.Append({bytes->data() + i, std::min<size_t>(700'001, total - i), bytes});
  }
  return batch;
}

std::string Bytes(const ByteSlices& data) {
  std::string bytes(data.size(), '\0');
  data.CopyTo(bytes.data());
  return bytes;
}

// The batch from its pieces.
std::string Joined(const std::vector<BatchPiece>& pieces) {
  std::string joined;
  for (const BatchPiece& piece : pieces) {
    REQUIRE(piece.offset == joined.size());
    REQUIRE(piece.checksum == Checksum(piece.data));
    std::string bytes = Bytes(piece.data);
    if (piece.codec != Codec::kNone) {
      std::string raw(piece.size, '\0');
      REQUIRE_OK(Decompress(piece.codec, bytes.data(), bytes.size(), raw.data(), raw.size()));
      bytes = std::move(raw);
    }
    REQUIRE(bytes.size() == piece.size);
    joined += bytes;
  }
  return joined;
}

TEST_CASE("The pieces of a batch make the whole batch, with any codec", "[unit]") {
  const auto memory = std::make_shared<BatchMemory>(1 << 20);
  for (const Codec codec : {Codec::kNone, Codec::kLz4, Codec::kZstd}) {
    BatchCutter cutter(codec, memory.get());
    for (const size_t total : {size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece + 5}) {
      const ByteSlices batch = Batch(total / 3, total);
      REQUIRE(Joined(cutter.Cut(batch)) == Bytes(batch));
    }
    const std::vector<BatchPiece> none = cutter.Cut(ByteSlices());
    REQUIRE(none.size() == 1);
    REQUIRE(none[0].size == 0);
    REQUIRE(none[0].codec == Codec::kNone);
  }
}

TEST_CASE("Only pieces that become much shorter are compressed; they do not keep the batch alive", "[unit]") {
  const auto memory = std::make_shared<BatchMemory>(0);
  BatchCutter cutter(Codec::kLz4, memory.get());
  std::weak_ptr<const void> owner;
  std::vector<BatchPiece> pieces;
  {
    const ByteSlices batch = Batch(kPiece, 2 * kPiece);
    owner = batch.slices()[0].owner;
    pieces = cutter.Cut(batch);
  }
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].codec == Codec::kNone);
  CHECK(pieces[0].data.size() == kPiece);
  CHECK(pieces[1].codec == Codec::kLz4);
  CHECK(pieces[1].data.size() < kPiece / 20);
  CHECK(!owner.expired());
  pieces.erase(pieces.begin());
  CHECK(owner.expired());
}

TEST_CASE("An offset where compression did not pay is tried again after a while", "[unit]") {
  const auto memory = std::make_shared<BatchMemory>(0);
  BatchCutter cutter(Codec::kZstd, memory.get());
  const ByteSlices noise = Batch(kPiece + 100, kPiece + 100);
  const ByteSlices same = Batch(0, kPiece + 100);
  REQUIRE(cutter.Cut(same)[0].codec == Codec::kZstd);
  REQUIRE(cutter.Cut(noise)[0].codec == Codec::kNone);
  int left_alone = 0;
  while (cutter.Cut(same)[0].codec == Codec::kNone) {
    REQUIRE(++left_alone < 1'000);
  }
  CHECK(left_alone > 10);
  CHECK(cutter.Cut(same)[0].codec == Codec::kZstd);
}

}  // namespace
}  // namespace waggle
