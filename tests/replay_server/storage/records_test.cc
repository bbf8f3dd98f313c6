#include "replay_server/storage/records.h"

#include <cstring>

#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

NewBlock DurableChunks(const std::shared_ptr<BlockLedger>& ledger, const std::vector<uint32_t>& rows) {
  const auto layout = std::make_shared<RowLayout>(testing::SmallTable().signature);
  NewBlock block = MakeChunks(layout, rows, 3, {}, {ledger, true});
  for (size_t i = 0; i < block.bytes; ++i) {
    block.data[i] = static_cast<char>(i);
  }
  return block;
}

std::string Encode(const DurableBlock& block) {
  const BlockFrame frame = EncodeBlockFrame(block);
  return frame.header + std::string(block.data, block.bytes) + frame.trailer;
}

TEST_CASE("keys are read as they were written, and are sorted by their numbers", "[unit]") {
  CHECK(ValueOf(ParseKey(ItemKey(3, 258))).first == 3);
  CHECK(ValueOf(ParseKey(ItemKey(3, 258))).second == 258);
  CHECK(ValueOf(ParseKey(BlockKey(uint64_t{1} << 40))).first == uint64_t{1} << 40);
  CHECK(ItemKey(3, 255) < ItemKey(3, 256));
  CHECK(ItemKey(3, UINT32_MAX) < ItemsEnd(3));
  CHECK(ItemsEnd(3) <= ItemKey(4, 0));
  // Slots and streams have 32 bits.
  std::string slot = ItemKey(3, 258);
  slot[slot.size() - 5] = 1;
  std::string stream = StreamKey(3, 258);
  stream[stream.size() - 8] = 1;
  for (const std::string& bad :
       {std::string(), std::string("x"), BlockKey(1) + "x", std::string("zzzzzzzzz"), slot, stream}) {
    REQUIRE_CODE(ParseKey(bad), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("an item is read as it was written", "[unit]") {
  const NewBlock block = DurableChunks(std::make_shared<BlockLedger>(41), {2, 3});
  ItemRecord item;
  item.generation = 9;
  item.priority = 0.25;
  item.policy_version = 77;
  item.offset = 1;
  item.rows = 4;
  item.times_sampled = 6;
  item.pins = 2;
  item.context = 1;
  item.chunks.assign(block.chunks.begin(), block.chunks.end());
  const std::string bytes = EncodeItem(item);
  StoredItem read = ValueOf(DecodeItem(bytes));
  CHECK(read.item.generation == 9);
  CHECK(read.item.priority == 0.25);
  REQUIRE(read.chunks.size() == 2);
  CHECK(read.chunks[1].block == 41);
  CHECK(read.chunks[1].index == 1);
  read.item.chunks = item.chunks;
  CHECK(EncodeItem(read.item) == bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE_CODE(DecodeItem(bytes.substr(0, size)), absl::StatusCode::kDataLoss);
  }
  REQUIRE_CODE(DecodeItem(bytes + "x"), absl::StatusCode::kDataLoss);
}

TEST_CASE("a block is read as it was written, and refused if a single bit differs", "[unit]") {
  const auto ledger = std::make_shared<BlockLedger>(1);
  const NewBlock block = DurableChunks(ledger, {2, 3});
  std::string bytes = Encode(*block.chunks[0]->durable());
  const StoredBlock read = ValueOf(DecodeBlock(bytes));
  CHECK(read.rows == std::vector<uint32_t>{2, 3});
  CHECK(read.holders == 3);
  CHECK(read.checkpointed);
  REQUIRE(read.data.size() == block.bytes);
  CHECK(std::memcmp(read.data.data(), block.data, block.bytes) == 0);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    REQUIRE_CODE(DecodeBlock(bytes), absl::StatusCode::kDataLoss);
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE_CODE(DecodeBlock(bytes.substr(0, size)), absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("a block in two records is read as it was written, and refused if a byte differs", "[unit]") {
  const NewBlock block = DurableChunks(std::make_shared<BlockLedger>(1), {3, 1, 4});
  const DurableBlock& durable = *block.chunks.front()->durable();
  const std::string head = EncodeBlockHead(durable);
  const StoredBlock read = ValueOf(DecodeBlockHead(head));
  REQUIRE(read.rows.size() == durable.chunks.size());
  for (size_t i = 0; i < read.rows.size(); ++i) {
    REQUIRE(read.rows[i] == durable.chunks[i].rows());
  }
  REQUIRE(read.holders == durable.holders);
  REQUIRE(read.checkpointed == durable.home.checkpointed);
  const std::string rows = std::string(durable.data, durable.bytes) + EncodeRowsTrailer(7, durable.data, durable.bytes);
  std::string copy(durable.bytes, '\0');
  REQUIRE_OK(DecodeRows(7, rows, copy.data(), copy.size()));
  REQUIRE((copy == std::string(durable.data, durable.bytes)));
  REQUIRE_CODE(DecodeRows(7, rows, copy.data(), copy.size() - 1), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(DecodeRows(6, rows, copy.data(), copy.size()), absl::StatusCode::kDataLoss);  // Another block's.
  // Format 2 had the checksum of the rows alone.
  const std::string before =
      std::string(durable.data, durable.bytes) + EncodeRowsTrailer(0, durable.data, durable.bytes);
  REQUIRE_OK(DecodeRows(7, before, copy.data(), copy.size()));
  for (const std::string& whole : {head, rows}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ 1);
      const absl::Status status =
          &whole == &head ? DecodeBlockHead(bytes).status() : DecodeRows(7, bytes, copy.data(), copy.size());
      CHECK_FALSE(status.ok());
    }
  }
}

}  // namespace
}  // namespace waggle
