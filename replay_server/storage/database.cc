#include "replay_server/storage/database.h"

#include <rocksdb/utilities/checkpoint.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <initializer_list>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"

namespace waggle {
namespace {

// RocksDB's messages, for debugging. RocksDB must not log to its own file, the default: Debian builds it with
// assertions, and one of them aborts when it logs to a full disk.
class DebugLog final : public rocksdb::Logger {
 public:
  DebugLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char text[1024];
    vsnprintf(text, sizeof(text), format, arguments);
    LogDebug("RocksDB: ", text);
  }
};

rocksdb::Options MakeOptions(bool create, rocksdb::Env* env) {
  rocksdb::Options options;
  options.create_if_missing = create;
  options.create_missing_column_families = create;
  if (env != nullptr) {
    options.env = env;
  }
  // A truncated last record is ignored. Damage before it is an error.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  options.max_open_files = MostOpenTables();
  options.max_total_wal_size = uint64_t{512} << 20;
  options.db_write_buffer_size = size_t{256} << 20;
  options.info_log = NewRocksDbLog();
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.compression = rocksdb::CompressionType::kNoCompression;
  return options;
}

rocksdb::ColumnFamilyOptions BlockOptions(const rocksdb::Options& options) {
  rocksdb::ColumnFamilyOptions blocks(options);
  // Rows are written once and deleted once, so compactions need not move them.
  blocks.enable_blob_files = true;
  blocks.min_blob_size = 2048;
  blocks.enable_blob_garbage_collection = true;
  blocks.blob_garbage_collection_age_cutoff = 0;  // See TuneCollection.
  return blocks;
}

// Live rows are moved together once this share of the files' bytes is garbage, and then out of this share of the files,
// the oldest.
constexpr double kMostGarbage = 0.5;
constexpr char kCollectedFiles[] = "0.5";

constexpr absl::Duration kReopenPause = absl::Seconds(1);

rocksdb::Slice SliceOf(absl::string_view text) {
  return rocksdb::Slice(text.data(), text.size());
}

bool ContainsAny(absl::string_view text, std::initializer_list<absl::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [text](absl::string_view part) { return absl::StrContains(text, part); });
}

}  // namespace

absl::Status ClosedDatabaseError(const std::string& path, const absl::Status& why) {
  return absl::UnavailableError(
      absl::StrCat("the database ", path, " could not be opened again yet", why.ok() ? "" : ": ", why.message()));
}

std::shared_ptr<rocksdb::Logger> NewRocksDbLog() {
  return std::make_shared<DebugLog>();
}

int MostOpenTables() {
  constexpr rlim_t kLeast = 20;  // RocksDB's minimum.
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
    return -1;
  }
  return static_cast<int>(std::clamp<rlim_t>(files.rlim_cur / 8, kLeast, std::numeric_limits<int>::max()));
}

absl::Status FromRocksDb(const rocksdb::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  const std::string text = status.ToString();
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::SubCode::kSpaceLimit ||
      ContainsAny(text, {"No space left", "File too large", "quota exceeded", "Too many open files",
                         "Cannot allocate memory"})) {
    return absl::ResourceExhaustedError(text);
  }
  if (text.find("While lock file") != std::string::npos || text.find("lock hold by") != std::string::npos) {
    return absl::UnavailableError(text);
  }
  if (text.find("Permission denied") != std::string::npos || text.find("Read-only file system") != std::string::npos) {
    return absl::PermissionDeniedError(text);
  }
  // A missing file is reported as one of these.
  if (status.IsCorruption() || status.IsPathNotFound() || status.IsNotFound() || status.IsInvalidArgument() ||
      status.IsIOError()) {
    return absl::DataLossError(text);
  }
  return absl::FailedPreconditionError(text);
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, bool create, rocksdb::Env* env) {
  std::unique_ptr<Database> database(new Database(path, env));
  WAGGLE_RETURN_IF_ERROR(database->OpenFiles(create));
  return database;
}

Database::~Database() {
  CloseFiles();
}

absl::Status Database::OpenFiles(bool create) {
  const rocksdb::Options options = MakeOptions(create, env_);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, options},
      {"items", options},
      {"blocks", BlockOptions(options)},
      {"writers", options},
  };
  rocksdb::DB* opened = nullptr;
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(options, path_, families, &handles_, &opened)));
  database_.reset(opened);
  collects_ = false;
  TuneCollection();
  return absl::OkStatus();
}

void Database::TuneCollection() {
  uint64_t bytes = 0;
  uint64_t garbage = 0;
  rocksdb::ColumnFamilyHandle* const blocks = family(Family::kBlocks);
  database_->GetIntProperty(blocks, rocksdb::DB::Properties::kLiveBlobFileSize, &bytes);
  database_->GetIntProperty(blocks, rocksdb::DB::Properties::kLiveBlobFileGarbageSize, &garbage);
  const bool collects = static_cast<double>(garbage) > kMostGarbage * static_cast<double>(bytes);
  if (collects != collects_ &&
      database_->SetOptions(blocks, {{"blob_garbage_collection_age_cutoff", collects ? kCollectedFiles : "0"}}).ok()) {
    collects_ = collects;
  }
}

void Database::CloseFiles() {
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    database_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
  database_ = nullptr;
}

absl::StatusOr<std::string> Database::Get(Family family, absl::string_view key) {
  if (database_ == nullptr) {
    return ClosedDatabaseError(path_, why_closed_);
  }
  std::string value;
  const rocksdb::Status status = database_->Get(rocksdb::ReadOptions(), this->family(family), SliceOf(key), &value);
  if (status.IsNotFound()) {
    return absl::NotFoundError(absl::StrCat("there is no key \"", key, "\""));
  }
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(status));
  return value;
}

absl::Status Database::Write(rocksdb::WriteBatch* batch, bool sync) {
  if (database_ == nullptr) {
    return ClosedDatabaseError(path_, why_closed_);
  }
  rocksdb::WriteOptions options;
  options.sync = sync;
  return FromRocksDb(database_->Write(options, batch));
}

absl::Status Database::Resume() {
  if (database_ != nullptr && database_->Resume().ok()) {
    return absl::OkStatus();
  }
  // RocksDB can resume after a full disk, but not after other errors of the log (a quota, a file size limit, a missing
  // device). Its acknowledged writes are in its files.
  const absl::Time now = SteadyNow();
  if (now < reopen_at_) {
    return ClosedDatabaseError(path_, why_closed_);
  }
  const absl::Status opened = OpenAnew();
  reopen_at_ = SteadyNow() + std::max(kReopenPause, 10 * (SteadyNow() - now));
  return opened;
}

absl::Status Database::OpenAnew() {
  gate_.Shut();
  CloseFiles();
  const absl::Status opened = OpenFiles(/*create=*/false);
  why_closed_ = opened;
  gate_.Open();
  return opened;
}

absl::Status Database::Use::status() const {
  return database_->database_ != nullptr ? absl::OkStatus()
                                         : ClosedDatabaseError(database_->path_, database_->why_closed_);
}

void Database::Use::TryResume() {
  if (database_->database_ != nullptr) {
    database_->database_->Resume().PermitUncheckedError();
  }
}

absl::Status Database::Copy(const std::string& path) {
  if (database_ == nullptr) {
    return ClosedDatabaseError(path_, why_closed_);
  }
  rocksdb::Checkpoint* made = nullptr;
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(database_.get(), &made)));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  WAGGLE_RETURN_IF_ERROR(FromRocksDb(checkpoint->CreateCheckpoint(path)));
  TuneCollection();
  return absl::OkStatus();
}

}  // namespace waggle
