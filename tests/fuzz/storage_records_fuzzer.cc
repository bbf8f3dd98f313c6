// Keys and records of a replay server's database, one by one: invalid ones are refused, and valid ones are written back
// unchanged.
#include <cstring>

#include "common/base/tensor/checksum.h"
#include "replay_server/storage/records.h"
#include "tests/fuzz/fuzz_database.h"

namespace waggle {
namespace {

const std::shared_ptr<const RowLayout>& NoColumns() {
  static const auto layout = std::make_shared<const RowLayout>(std::vector<ArraySpec>());
  return layout;
}

BlockHome Home(bool checkpointed) {
  return {std::make_shared<BlockLedger>(1), checkpointed};
}

std::string WithChecksum(std::string bytes) {
  const uint64_t checksum = Checksum(bytes.data(), bytes.size());
  return bytes.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
}

void ReadKey(const std::string& bytes) {
  if (const absl::StatusOr<ParsedKey> key = ParseKey(bytes); key.ok()) {
    WAGGLE_CHECK(fuzz::KeyOf(key->kind, key->first, key->second) == bytes, "a key comes back");
  }
}

void ReadItem(const std::string& bytes) {
  absl::StatusOr<StoredItem> stored = DecodeItem(bytes);
  if (!stored.ok()) {
    return;
  }
  for (const ChunkName& name : stored->chunks) {
    if (name.block == 0 || name.index > 100) {
      return;  // Either no such block was ever written, or it would be too large.
    }
    const std::vector<uint32_t> rows(name.index + 1, 1);
    stored->item.chunks.push_back(MakeChunks(NoColumns(), rows, 1, {}, Home(false), name.block).chunks.back());
  }
  WAGGLE_CHECK(EncodeItem(stored->item) == bytes, "an item comes back");
}

void ReadBlock(const StoredBlock& stored) {
  uint64_t rows = 0;
  uint64_t pieces = 0;
  for (const uint32_t count : stored.rows) {
    rows += count;
  }
  for (const uint32_t piece : stored.piece_bytes) {
    pieces += piece;
  }
  if (rows > UINT32_MAX || stored.holders > 1000 || pieces > 100'000) {
    return;  // More than the loader takes, or too large.
  }
  const NewBlock made =
      MakeChunks(NoColumns(), stored.rows, stored.holders, stored.piece_bytes, Home(stored.checkpointed));
  const DurableBlock& block = *made.chunks.front()->durable();
  const std::string head = EncodeBlockHead(block);
  const absl::StatusOr<StoredBlock> again = DecodeBlockHead(head);
  WAGGLE_CHECK(again.ok() && again->rows == stored.rows && again->piece_bytes == stored.piece_bytes &&
                   again->holders == stored.holders && again->checkpointed == stored.checkpointed,
               "a block's head comes back");
  if (made.bytes == stored.data.size()) {
    std::memcpy(made.data, stored.data.data(), made.bytes);
    const BlockFrame frame = EncodeBlockFrame(block);
    const std::string written = frame.header + std::string(stored.data) + frame.trailer;
    const absl::StatusOr<StoredBlock> whole = DecodeBlock(written);
    WAGGLE_CHECK(whole.ok() && whole->data == stored.data && whole->rows == stored.rows, "a block comes back");
  }
}

void ReadBlocks(const std::string& bytes) {
  if (const absl::StatusOr<StoredBlock> stored = DecodeBlock(bytes); stored.ok()) {
    ReadBlock(*stored);
  }
  if (const absl::StatusOr<StoredBlock> stored = DecodeBlockHead(bytes); stored.ok()) {
    ReadBlock(*stored);
  }
}

void ReadRows(const std::string& bytes, size_t size) {
  constexpr uint64_t kBlock = 7;
  std::string rows(size, '\0');
  if (DecodeRows(kBlock, bytes, rows.data(), rows.size()).ok()) {
    // Before records named their writer, its number was 0.
    WAGGLE_CHECK(rows + EncodeRowsTrailer(kBlock, rows.data(), rows.size()) == bytes ||
                     rows + EncodeRowsTrailer(0, rows.data(), rows.size()) == bytes,
                 "rows come back");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint8_t kind = input.Byte() % 4;
  const bool intact = input.Byte() % 8 != 0;
  const std::string bytes = input.RestString();
  switch (kind) {
    case 0:
      ReadKey(bytes);
      break;
    case 1:
      ReadItem(bytes);
      break;
    case 2:
      ReadBlocks(intact ? WithChecksum(bytes) : bytes);
      break;
    default:
      ReadRows(intact ? WithChecksum(bytes) : bytes, bytes.size());
  }
  return 0;
}

}  // namespace waggle
