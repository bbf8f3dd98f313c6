#include "replay_server/storage/cold_database.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "replay_server/storage/database.h"

namespace waggle {
namespace {

constexpr absl::Duration kColdReopenPause = absl::Seconds(1);

// The buffers are small, because no memory_limit counts them.
rocksdb::Options ColdOptions(bool create, rocksdb::Env* env) {
  rocksdb::Options options;
  options.create_if_missing = create;
  if (env != nullptr) {
    options.env = env;
  }
  options.max_open_files = MostOpenTables();
  options.write_buffer_size = size_t{8} << 20;
  options.max_write_buffer_number = 2;
  options.info_log = NewRocksDbLog();
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.compression = rocksdb::CompressionType::kNoCompression;
  options.enable_blob_files = true;
  options.min_blob_size = 2048;
  options.blob_file_size = uint64_t{64} << 20;
  options.enable_blob_garbage_collection = true;
  options.blob_garbage_collection_age_cutoff = 0.5;
  return options;
}

rocksdb::WriteOptions NotAhead() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

}  // namespace

absl::StatusOr<rocksdb::DB*> ColdDatabase::Use::get() const {
  if (database_->database_ == nullptr) {
    return ClosedDatabaseError(database_->path_, database_->why_closed_);
  }
  return database_->database_.get();
}

absl::StatusOr<std::unique_ptr<ColdDatabase>> ColdDatabase::Create(const std::string& path, rocksdb::Env* env) {
  std::unique_ptr<ColdDatabase> database(new ColdDatabase(path, env));
  WAGGLE_RETURN_IF_ERROR(database->OpenFiles(/*create=*/true));
  return database;
}

absl::Status ColdDatabase::OpenFiles(bool create) {
  rocksdb::DB* opened = nullptr;
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(ColdOptions(create, env_), path_, &opened)));
  database_.reset(opened);
  return absl::OkStatus();
}

absl::Status ColdDatabase::Write(rocksdb::WriteBatch* batch) {
  if (database_ == nullptr) {
    WAGGLE_RETURN_IF_ERROR(OpenAnew());
  }
  const rocksdb::Status status = database_->Write(NotAhead(), batch);
  if (status.ok()) {
    return absl::OkStatus();
  }
  // RocksDB can resume after a full disk, but not after other failures (a quota, a missing device).
  if (!database_->Resume().ok() && !status.IsNoSpace()) {
    if (const absl::Status opened = OpenAnew(); !opened.ok()) {
      LogDebug("rows on disk cannot be written yet: ", opened.message());
    }
  }
  return FromRocksDb(status);
}

absl::Status ColdDatabase::OpenAnew() {
  const absl::Time now = SteadyNow();
  if (now < reopen_at_) {
    return ClosedDatabaseError(path_, why_closed_);
  }
  reopen_at_ = now + kColdReopenPause;
  WAGGLE_RETURN_IF_ERROR(TryWriting());
  if (database_ != nullptr) {
    WAGGLE_RETURN_IF_ERROR(KeepUnflushed());
  }
  gate_.Shut();
  database_ = nullptr;
  absl::Status opened = OpenFiles(/*create=*/false);
  if (opened.ok()) {
    opened = FromRocksDb(database_->Write(NotAhead(), &unflushed_));
  }
  if (opened.ok()) {
    unflushed_.Clear();
  } else {
    database_ = nullptr;  // Without those rows it would look damaged.
  }
  why_closed_ = opened;
  gate_.Open();
  reopen_at_ = SteadyNow() + std::max(kColdReopenPause, 10 * (SteadyNow() - now));
  return opened;
}

absl::Status ColdDatabase::TryWriting() const {
  rocksdb::Env* const env = env_ != nullptr ? env_ : rocksdb::Env::Default();
  const std::string file = path_ + "/try";
  const std::string bytes(size_t{64} << 10, '\0');
  const rocksdb::Status written = rocksdb::WriteStringToFile(env, bytes, file, /*should_sync=*/true);
  env->DeleteFile(file).PermitUncheckedError();
  return FromRocksDb(written);
}

absl::Status ColdDatabase::KeepUnflushed() {
  unflushed_.Clear();  // Left from a failed attempt. Kept rows are written as soon as the database is open.
  rocksdb::ReadOptions options;
  options.read_tier = rocksdb::ReadTier::kMemtableTier;
  const std::unique_ptr<rocksdb::Iterator> at(database_->NewIterator(options));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    WAGGLE_RETURN_IF_ERROR(FromRocksDb(unflushed_.Put(at->key(), at->value())));
  }
  return FromRocksDb(at->status());
}

}  // namespace waggle
