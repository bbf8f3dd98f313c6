#pragma once

#include <rocksdb/env.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace waggle::testing {

// Files in memory, on a disk that can be full.
class FullDiskEnv final : public rocksdb::EnvWrapper {
 public:
  FullDiskEnv() : FullDiskEnv(rocksdb::NewMemEnv(rocksdb::Env::Default())) {}

  void SetFull(bool full) { *full_ = full; }

  rocksdb::Status NewWritableFile(const std::string& name, std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    if (*full_) {
      return NoSpace();
    }
    std::unique_ptr<rocksdb::WritableFile> made;
    rocksdb::Status status = target()->NewWritableFile(name, &made, options);
    if (status.ok()) {
      *file = std::make_unique<File>(std::move(made), full_);
    }
    return status;
  }

 private:
  explicit FullDiskEnv(rocksdb::Env* memory) : EnvWrapper(memory), memory_(memory) {}

  static rocksdb::Status NoSpace() { return rocksdb::Status::NoSpace("No space left on device"); }

  class File final : public rocksdb::WritableFileWrapper {
   public:
    File(std::unique_ptr<rocksdb::WritableFile> file, std::shared_ptr<std::atomic<bool>> full)
        : WritableFileWrapper(file.get()), file_(std::move(file)), full_(std::move(full)) {}

    using WritableFileWrapper::Append;
    rocksdb::Status Append(const rocksdb::Slice& data) override { return *full_ ? NoSpace() : file_->Append(data); }
    rocksdb::Status Sync() override { return *full_ ? NoSpace() : file_->Sync(); }

   private:
    const std::unique_ptr<rocksdb::WritableFile> file_;
    const std::shared_ptr<std::atomic<bool>> full_;
  };

  const std::unique_ptr<rocksdb::Env> memory_;
  const std::shared_ptr<std::atomic<bool>> full_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace waggle::testing
