#pragma once

#include <rocksdb/env.h>

#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/check.h"
#include "common/base/tensor/checksum.h"
#include "replay_server/storage/database.h"
#include "replay_server/storage/records.h"
#include "tests/fuzz/fuzz_input.h"
#include "waggle/v1/replay_storage.pb.h"

// Databases of a replay server, in memory, with the records of a fuzzer's input. Each record is
//
//   KIND FIRST SECOND SIZE SIZE VALUE…
//
// with a kind of kKinds, the numbers of its key, and its value without its checksum.

namespace waggle::fuzz {

// As in ParseKey; '!' is the last checkpoint's record, '?' an invalid key.
inline constexpr absl::string_view kKinds = "tcibhrwpms!?";

// Small numbers stand for themselves; the others are likely to find mistakes.
inline uint64_t KeyNumber(char kind, uint8_t byte) {
  const uint64_t low = byte & 0x7f;
  return low == byte ? low : kKinds.substr(3, 3).find(kind) != absl::string_view::npos ? kTieredBlock | low : ~low;
}

inline std::string KeyOf(char kind, uint64_t first, uint64_t second) {
  switch (kind) {
    case 't':
      return TableKey(first);
    case 'c':
      return CountersKey(first);
    case 'i':
      return ItemKey(first, static_cast<uint32_t>(second));
    case 'b':
      return BlockKey(first);
    case 'h':
      return HeadKey(first);
    case 'r':
      return RowsKey(first);
    case 'w':
      return WriterKey(first);
    case 'p':
      return ProgressKey(first);
    case 'm':
      return MarkKey(first, second);
    case 's':
      return StreamKey(first, static_cast<uint32_t>(second));
    case '!':
      return kCheckpointKey;
    default:
      return "i none";
  }
}

inline Database::Family FamilyOf(char kind) {
  return kind == 'i'                                                ? Database::Family::kItems
         : kind == 'b' || kind == 'h' || kind == 'r'                ? Database::Family::kBlocks
         : kind == 'w' || kind == 'p' || kind == 'm' || kind == 's' ? Database::Family::kWriters
                                                                    : Database::Family::kMeta;
}

// Opened anew from time to time: deleted records slow it down.
class ScratchDatabase {
 public:
  // Replaces its records by the input's, as if read from a folder.
  std::shared_ptr<Database> Fill(Input* input) {
    Empty();
    rocksdb::WriteBatch batch;
    v1::StoredFormat format;
    format.set_version(kStorageFormat);
    Put(&batch, Database::Family::kMeta, kFormatKey, format.SerializeAsString());
    while (!input->empty()) {
      const char kind = kKinds[input->Byte() % kKinds.size()];
      const uint64_t first = KeyNumber(kind, input->Byte());
      const uint64_t second = KeyNumber(kind, input->Byte());
      std::string value = input->NextString();
      if (FamilyOf(kind) == Database::Family::kBlocks) {
        const uint64_t checksum = Checksum(value.data(), value.size());
        value.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
      }
      Put(&batch, FamilyOf(kind), KeyOf(kind, first, second), value);
    }
    WAGGLE_CHECK(database_->Write(&batch, /*sync=*/false).ok(), "memory can be written to");
    return database_;
  }

  rocksdb::Env* env() { return env_.get(); }

  // Its records as an input for Fill.
  std::string Dump() {
    std::string input;
    for (int i = 0; i < Database::kFamilies; ++i) {
      const std::unique_ptr<rocksdb::Iterator> it = Iterate(i);
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        const absl::string_view key(it->key().data(), it->key().size());
        if (key == kFormatKey) {
          continue;
        }
        ParsedKey parsed;
        parsed.kind = '!';
        if (key != kCheckpointKey) {
          parsed = *ParseKey(key);
        }
        const size_t checksum = i == static_cast<int>(Database::Family::kBlocks) ? sizeof(uint64_t) : 0;
        const size_t size = it->value().size() - checksum;
        for (const uint64_t byte : {uint64_t{kKinds.find(parsed.kind)}, (parsed.first >> 56) | parsed.first,
                                    parsed.second, uint64_t{size / 256}, uint64_t{size % 256}}) {
          input.push_back(static_cast<char>(byte));
        }
        input.append(it->value().data(), size);
      }
    }
    return input;
  }

 private:
  static constexpr int kUses = 200;

  static void Put(rocksdb::WriteBatch* batch, rocksdb::ColumnFamilyHandle* family, const std::string& key,
                  const std::string& value) {
    WAGGLE_CHECK(batch->Put(family, key, value).ok(), "it is small");
  }
  void Put(rocksdb::WriteBatch* batch, Database::Family family, const std::string& key, const std::string& value) {
    Put(batch, database_->family(family), key, value);
  }

  std::unique_ptr<rocksdb::Iterator> Iterate(int family) {
    return std::unique_ptr<rocksdb::Iterator>(database_->get()->NewIterator(
        rocksdb::ReadOptions(), database_->family(static_cast<Database::Family>(family))));
  }

  void Empty() {
    if (database_ == nullptr || ++uses_ % kUses == 0) {
      database_ = nullptr;
      env_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
      absl::StatusOr<std::unique_ptr<Database>> opened = Database::Open("/db", /*create=*/true, env_.get());
      WAGGLE_CHECK(opened.ok(), opened.status().ToString());
      database_ = *std::move(opened);
      return;
    }
    rocksdb::WriteBatch batch;
    for (int i = 0; i < Database::kFamilies; ++i) {
      const std::unique_ptr<rocksdb::Iterator> it = Iterate(i);
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        WAGGLE_CHECK(batch.Delete(database_->family(static_cast<Database::Family>(i)), it->key()).ok(), "it is small");
      }
    }
    WAGGLE_CHECK(database_->Write(&batch, /*sync=*/false).ok(), "memory can be written to");
  }

  std::unique_ptr<rocksdb::Env> env_;
  std::shared_ptr<Database> database_;
  int uses_ = 0;
};

}  // namespace waggle::fuzz
