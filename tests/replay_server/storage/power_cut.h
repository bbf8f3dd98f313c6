#pragma once

#include <rocksdb/env.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/threads/mutex.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// The machine's files. It knows how many bytes of each are synced.
class PowerCutEnv final : public rocksdb::EnvWrapper {
 public:
  PowerCutEnv() : EnvWrapper(rocksdb::Env::Default()) {}

  // Copies a folder as a power cut might leave it: files that were written through this have their synced bytes.
  void CopyAfterPowerCut(const std::string& from, const std::string& to) const ABSL_LOCKS_EXCLUDED(files_->mutex) {
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
    MutexLock lock(&files_->mutex);
    for (const auto& [name, synced] : files_->synced) {
      const std::filesystem::path copy = to / std::filesystem::path(name).lexically_normal().lexically_relative(from);
      if (std::filesystem::exists(copy) && std::filesystem::file_size(copy) > synced) {
        std::filesystem::resize_file(copy, synced);
      }
    }
  }

  // Calls `call` after every `bytes` bytes of a log, in the writing thread. Must be called before any file is written.
  void WhileLogging(size_t bytes, std::function<void()> call) {
    files_->every = bytes;
    files_->call = std::move(call);
  }

  rocksdb::Status NewWritableFile(const std::string& name, std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    std::unique_ptr<rocksdb::WritableFile> made;
    rocksdb::Status status = target()->NewWritableFile(name, &made, options);
    if (status.ok()) {
      MutexLock lock(&files_->mutex);
      files_->synced[name] = 0;
      *file = std::make_unique<File>(name, std::move(made), files_);
    }
    return status;
  }
  rocksdb::Status RenameFile(const std::string& from, const std::string& to) override {
    {
      MutexLock lock(&files_->mutex);
      if (const auto found = files_->synced.find(from); found != files_->synced.end()) {
        files_->synced[to] = found->second;
        files_->synced.erase(from);
      }
    }
    return target()->RenameFile(from, to);
  }

 private:
  struct Files {
    Mutex mutex;
    std::map<std::string, uint64_t> synced ABSL_GUARDED_BY(mutex);  // Bytes.
    size_t every = 0;
    std::function<void()> call;
  };

  class File final : public rocksdb::WritableFileWrapper {
   public:
    File(std::string name, std::unique_ptr<rocksdb::WritableFile> file, std::shared_ptr<Files> files)
        : WritableFileWrapper(file.get()), name_(std::move(name)), file_(std::move(file)), files_(std::move(files)) {}

    using WritableFileWrapper::Append;
    rocksdb::Status Append(const rocksdb::Slice& data) override {
      const rocksdb::Status status = file_->Append(data);
      const uint64_t before = written_;
      written_ += data.size();
      if (files_->every > 0 && name_.size() > 4 && name_.substr(name_.size() - 4) == ".log" &&
          written_ / files_->every > before / files_->every) {
        files_->call();
      }
      return status;
    }
    rocksdb::Status Sync() override { return Synced(file_->Sync()); }
    rocksdb::Status Fsync() override { return Synced(file_->Fsync()); }

   private:
    rocksdb::Status Synced(const rocksdb::Status& status) {
      MutexLock lock(&files_->mutex);
      if (const auto found = files_->synced.find(name_); status.ok() && found != files_->synced.end()) {
        found->second = written_;
      }
      return status;
    }

    const std::string name_;
    const std::unique_ptr<rocksdb::WritableFile> file_;
    const std::shared_ptr<Files> files_;
    uint64_t written_ = 0;
  };

  const std::shared_ptr<Files> files_ = std::make_shared<Files>();
};

}  // namespace waggle::testing
