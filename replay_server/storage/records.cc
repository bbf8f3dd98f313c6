#include "replay_server/storage/records.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"

namespace waggle {
namespace {

void AppendBigEndian(std::string* bytes, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes->push_back(static_cast<char>((value >> shift) & 0xff));
  }
}

uint64_t BigEndian(const char* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::string Key(char kind, uint64_t number) {
  std::string key(1, kind);
  AppendBigEndian(&key, number);
  return key;
}

std::string Key(char kind, uint64_t first, uint64_t second) {
  std::string key = Key(kind, first);
  AppendBigEndian(&key, second);
  return key;
}

template <class T>
void Put(std::string* bytes, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));  // Waggle and its wire format are little-endian.
  bytes->append(raw, sizeof(T));
}

// Takes a value from the front; false if there are too few bytes.
template <class T>
bool Take(absl::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(T)) {
    return false;
  }
  std::memcpy(value, bytes->data(), sizeof(T));
  bytes->remove_prefix(sizeof(T));
  return true;
}

}  // namespace

std::string TableKey(uint64_t table) {
  return Key('t', table);
}
std::string CountersKey(uint64_t table) {
  return Key('c', table);
}
std::string ItemKey(uint64_t table, uint32_t slot) {
  return Key('i', table, slot);
}
std::string ItemsEnd(uint64_t table) {
  return Key('i', table + 1);
}
std::string BlockKey(uint64_t block) {
  return Key('b', block);
}
std::string HeadKey(uint64_t block) {
  return Key('h', block);
}
std::string RowsKey(uint64_t block) {
  return Key('r', block);
}
std::string WriterKey(uint64_t writer) {
  return Key('w', writer);
}
std::string ProgressKey(uint64_t writer) {
  return Key('p', writer);
}
std::string MarkKey(uint64_t writer, uint64_t table) {
  return Key('m', writer, table);
}
std::string StreamKey(uint64_t writer, uint32_t stream) {
  return Key('s', writer, stream);
}

absl::StatusOr<ParsedKey> ParseKey(absl::string_view key) {
  constexpr size_t kOne = 1 + sizeof(uint64_t);
  constexpr size_t kTwo = kOne + sizeof(uint64_t);
  const bool two = !key.empty() && absl::string_view("ims").find(key[0]) != absl::string_view::npos;
  const bool one = !key.empty() && absl::string_view("tcbhrwp").find(key[0]) != absl::string_view::npos;
  ParsedKey parsed;
  bool whole = (one && key.size() == kOne) || (two && key.size() == kTwo);
  if (whole) {
    parsed.kind = key[0];
    parsed.first = BigEndian(key.data() + 1);
    parsed.second = two ? BigEndian(key.data() + kOne) : 0;
    // Slots and streams have 32 bits.
    whole = parsed.kind == 'm' || parsed.second <= std::numeric_limits<uint32_t>::max();
  }
  if (!whole) {
    return absl::DataLossError(absl::StrCat("key: got a malformed one: ", absl::BytesToHexString(key)));
  }
  return parsed;
}

std::string EncodeItem(const ItemRecord& item) {
  std::string bytes;
  bytes.reserve(43 + item.chunks.size() * 12);
  Put(&bytes, item.generation);
  Put(&bytes, item.priority);
  Put(&bytes, item.policy_version);
  Put(&bytes, item.offset);
  Put(&bytes, item.rows);
  Put(&bytes, item.times_sampled);
  Put(&bytes, item.pins);
  Put(&bytes, item.context);
  Put(&bytes, static_cast<uint32_t>(item.chunks.size()));
  for (const ChunkRef& chunk : item.chunks) {
    Put(&bytes, chunk->durable()->id);
    Put(&bytes, chunk->index());
  }
  return bytes;
}

absl::StatusOr<StoredItem> DecodeItem(absl::string_view bytes) {
  StoredItem stored;
  ItemRecord& item = stored.item;
  uint32_t chunks = 0;
  const size_t size = bytes.size();
  bool whole = Take(&bytes, &item.generation) && Take(&bytes, &item.priority) && Take(&bytes, &item.policy_version) &&
               Take(&bytes, &item.offset) && Take(&bytes, &item.rows) && Take(&bytes, &item.times_sampled) &&
               Take(&bytes, &item.pins) && Take(&bytes, &item.context) && Take(&bytes, &chunks) &&
               bytes.size() == uint64_t{chunks} * 12 && chunks > 0 && item.generation != 0;
  for (uint32_t i = 0; whole && i < chunks; ++i) {
    ChunkName name;
    whole = Take(&bytes, &name.block) && Take(&bytes, &name.index);
    stored.chunks.push_back(name);
  }
  if (!whole) {
    return absl::DataLossError(absl::StrCat("an item's record of ", size, " bytes is malformed"));
  }
  return stored;
}

namespace {

std::string EncodeShape(const DurableBlock& block) {
  std::string bytes;
  Put(&bytes, static_cast<uint32_t>(block.chunks.size()));
  Put(&bytes, static_cast<uint32_t>(block.piece_ends.size()));
  Put(&bytes, block.holders);
  Put(&bytes, static_cast<uint8_t>(block.home.checkpointed ? 1 : 0));
  for (const Chunk& chunk : block.chunks) {
    Put(&bytes, chunk.rows());
  }
  uint64_t begin = 0;
  for (const uint64_t end : block.piece_ends) {
    Put(&bytes, static_cast<uint32_t>(end - begin));
    begin = end;
  }
  return bytes;
}

// Takes the checksum of the preceding bytes from the end.
absl::Status TakeChecksum(absl::string_view* bytes) {
  uint64_t checksum = 0;
  const size_t size = bytes->size();
  if (size < sizeof(checksum)) {
    return absl::DataLossError(absl::StrCat("a block of rows has ", size, " bytes, fewer than its checksum"));
  }
  absl::string_view trailer = bytes->substr(size - sizeof(checksum));
  Take(&trailer, &checksum);
  bytes->remove_suffix(sizeof(checksum));
  if (const uint64_t computed = Checksum(bytes->data(), bytes->size()); computed != checksum) {
    return absl::DataLossError(absl::StrCat("a block of rows was damaged: its checksum is ", computed, ", it was ",
                                            checksum, " when it was written"));
  }
  return absl::OkStatus();
}

// Leaves the data.
absl::StatusOr<StoredBlock> TakeShape(absl::string_view bytes) {
  StoredBlock block;
  const size_t size = bytes.size();
  uint32_t chunks = 0;
  uint32_t pieces = 0;
  uint8_t flags = 0;
  bool whole = Take(&bytes, &chunks) && Take(&bytes, &pieces) && Take(&bytes, &block.holders) && Take(&bytes, &flags) &&
               chunks > 0 && bytes.size() >= (uint64_t{chunks} + pieces) * sizeof(uint32_t);
  for (uint32_t i = 0; whole && i < chunks; ++i) {
    uint32_t rows = 0;
    whole = Take(&bytes, &rows);
    block.rows.push_back(rows);
  }
  for (uint32_t i = 0; whole && i < pieces; ++i) {
    uint32_t piece = 0;
    whole = Take(&bytes, &piece);
    block.piece_bytes.push_back(piece);
  }
  if (!whole) {
    return absl::DataLossError(absl::StrCat("a block of rows of ", size, " bytes is malformed"));
  }
  block.checkpointed = flags != 0;
  block.data = bytes;
  return block;
}

}  // namespace

BlockFrame EncodeBlockFrame(const DurableBlock& block) {
  BlockFrame frame;
  frame.header = EncodeShape(block);
  Checksummer sum;
  sum.Update(frame.header.data(), frame.header.size());
  sum.Update(block.data, block.bytes);
  Put(&frame.trailer, sum.Digest());
  return frame;
}

absl::StatusOr<StoredBlock> DecodeBlock(absl::string_view bytes) {
  WAGGLE_RETURN_IF_ERROR(TakeChecksum(&bytes));
  return TakeShape(bytes);
}

std::string EncodeBlockHead(const DurableBlock& block) {
  std::string head = EncodeShape(block);
  Put(&head, Checksum(head.data(), head.size()));
  return head;
}

absl::StatusOr<StoredBlock> DecodeBlockHead(absl::string_view bytes) {
  WAGGLE_RETURN_IF_ERROR(TakeChecksum(&bytes));
  WAGGLE_ASSIGN_OR_RETURN(StoredBlock block, TakeShape(bytes));
  if (!block.data.empty()) {
    return absl::DataLossError(absl::StrCat("the head of a block of rows has ", block.data.size(), " bytes too many"));
  }
  return block;
}

std::string EncodeRowsTrailer(uint64_t block, const char* data, size_t bytes) {
  std::string trailer;
  Put(&trailer, Checksum(data, bytes) ^ block);
  return trailer;
}

absl::Status DecodeRows(uint64_t block, absl::string_view record, char* data, size_t bytes) {
  uint64_t stored = 0;
  if (record.size() != bytes + sizeof(stored)) {
    return absl::DataLossError(absl::StrCat("a block of rows has ", record.size(), " bytes, and should have ",
                                            bytes + sizeof(stored), " with its checksum"));
  }
  absl::string_view trailer = record.substr(bytes);
  Take(&trailer, &stored);
  // Up to format 2 it was the checksum of the rows alone.
  if (const uint64_t computed = Checksum(record.data(), bytes); (computed ^ block) != stored && computed != stored) {
    return absl::DataLossError(absl::StrCat("a block of rows was damaged: its checksum is ", computed ^ block,
                                            ", it was ", stored, " when it was written"));
  }
  std::memcpy(data, record.data(), bytes);
  return absl::OkStatus();
}

}  // namespace waggle
