#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "replay_server/storage/database.h"

namespace waggle {

// Calls take(key, value) for each record from `begin` to before `end` in the order of keys until it fails. Without an
// end it goes on to the last one.
template <class Take>
absl::Status ForEachInRange(Database* database, Database::Family family, const std::string& begin,
                            const std::string& end, const Take& take) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = size_t{2} << 20;
  const rocksdb::Slice bound(end);
  options.iterate_upper_bound = end.empty() ? nullptr : &bound;
  const std::unique_ptr<rocksdb::Iterator> it(database->get()->NewIterator(options, database->family(family)));
  for (it->Seek(begin); it->Valid(); it->Next()) {
    const absl::string_view key(it->key().data(), it->key().size());
    const absl::string_view value(it->value().data(), it->value().size());
    WAGGLE_RETURN_IF_ERROR(take(key, value));
  }
  return FromRocksDb(it->status());
}

// The same for all records. If `kind` is not empty, other kinds' records, which may be many and large, are not read.
template <class Take>
absl::Status ForEachRecord(Database* database, Database::Family family, const std::string& kind, const Take& take) {
  const std::string after = kind.empty() ? "" : std::string(1, static_cast<char>(kind[0] + 1));
  return ForEachInRange(database, family, kind, after, take);
}

// Gets a record that other records refer to. DATA_LOSS if it is missing.
inline absl::StatusOr<std::string> GetRecord(Database* database, Database::Family family, absl::string_view key) {
  absl::StatusOr<std::string> value = database->Get(family, key);
  return absl::IsNotFound(value.status()) ? absl::DataLossError(value.status().message()) : std::move(value);
}

}  // namespace waggle
