#include "replay_server/storage/database.h"

#include <rocksdb/utilities/checkpoint.h>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

rocksdb::Options MakeOptions(bool create, rocksdb::Env* env) {
  rocksdb::Options options;
  options.create_if_missing = create;
  options.create_missing_column_families = create;
  if (env != nullptr) {
    options.env = env;
  }
  // A record that a crash has cut off at the end is none; damage before that is an error, not an end.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  options.max_total_wal_size = uint64_t{512} << 20;
  options.db_write_buffer_size = size_t{256} << 20;
  options.keep_log_file_num = 4;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.compression = rocksdb::CompressionType::kNoCompression;
  return options;
}

rocksdb::ColumnFamilyOptions BlockOptions(const rocksdb::Options& options) {
  rocksdb::ColumnFamilyOptions blocks(options);
  // Rows are written once and deleted once: compactions need not move them.
  blocks.enable_blob_files = true;
  blocks.min_blob_size = 2048;
  blocks.enable_blob_garbage_collection = true;
  blocks.blob_garbage_collection_age_cutoff = 0.5;
  return blocks;
}

rocksdb::Slice SliceOf(absl::string_view text) {
  return rocksdb::Slice(text.data(), text.size());
}

}  // namespace

absl::Status FromRocksDb(const rocksdb::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  const std::string text = status.ToString();
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::SubCode::kSpaceLimit ||
      text.find("No space left") != std::string::npos || text.find("File too large") != std::string::npos) {
    return absl::ResourceExhaustedError(text);
  }
  if (text.find("While lock file") != std::string::npos || text.find("lock hold by") != std::string::npos) {
    return absl::UnavailableError(text);
  }
  if (text.find("Permission denied") != std::string::npos || text.find("Read-only file system") != std::string::npos) {
    return absl::PermissionDeniedError(text);
  }
  // A file that should be there and is not comes as one of the others of these.
  if (status.IsCorruption() || status.IsPathNotFound() || status.IsNotFound() || status.IsInvalidArgument() ||
      status.IsIOError()) {
    return absl::DataLossError(text);
  }
  return absl::FailedPreconditionError(text);
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, bool create, rocksdb::Env* env) {
  const rocksdb::Options options = MakeOptions(create, env);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, options},
      {"items", options},
      {"blocks", BlockOptions(options)},
      {"writers", options},
  };
  std::unique_ptr<Database> database(new Database);
  rocksdb::DB* opened = nullptr;
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(options, path, families, &database->handles_, &opened)));
  database->database_.reset(opened);
  return database;
}

Database::~Database() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    database_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
}

absl::StatusOr<std::string> Database::Get(Family family, absl::string_view key) {
  std::string value;
  const rocksdb::Status status = database_->Get(rocksdb::ReadOptions(), this->family(family), SliceOf(key), &value);
  if (status.IsNotFound()) {
    return absl::NotFoundError(absl::StrCat("there is no key \"", key, "\""));
  }
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(status));
  return value;
}

absl::Status Database::Write(rocksdb::WriteBatch* batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  return FromRocksDb(database_->Write(options, batch));
}

absl::Status Database::Resume() {
  return FromRocksDb(database_->Resume());
}

absl::Status Database::Copy(const std::string& path) {
  rocksdb::Checkpoint* made = nullptr;
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(database_.get(), &made)));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  return FromRocksDb(checkpoint->CreateCheckpoint(path));
}

}  // namespace waggle
