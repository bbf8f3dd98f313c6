#pragma once

#include <rocksdb/env.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace waggle::testing {

// Files in memory, on a disk that can be full or fail.
class FullDiskEnv final : public rocksdb::EnvWrapper {
 public:
  FullDiskEnv() : FullDiskEnv(rocksdb::NewMemEnv(rocksdb::Env::Default())) {}

  void SetFull(bool full) { *state_ = full ? kFull : kFine; }
  // Like a quota, or a device that is absent for a while.
  void SetFailing(bool failing) { *state_ = failing ? kFailing : kFine; }

  rocksdb::Status NewWritableFile(const std::string& name, std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    if (*state_ != kFine) {
      return Failure(*state_);
    }
    std::unique_ptr<rocksdb::WritableFile> made;
    rocksdb::Status status = target()->NewWritableFile(name, &made, options);
    if (status.ok()) {
      *file = std::make_unique<File>(std::move(made), state_);
    }
    return status;
  }

 private:
  explicit FullDiskEnv(rocksdb::Env* memory) : EnvWrapper(memory), memory_(memory) {}

  enum State { kFine, kFull, kFailing };
  using SharedState = std::shared_ptr<std::atomic<State>>;

  static rocksdb::Status Failure(State state) {
    return state == kFull ? rocksdb::Status::NoSpace("No space left on device")
                          : rocksdb::Status::IOError("Disk quota exceeded");
  }

  class File final : public rocksdb::WritableFileWrapper {
   public:
    File(std::unique_ptr<rocksdb::WritableFile> file, SharedState state)
        : WritableFileWrapper(file.get()), file_(std::move(file)), state_(std::move(state)) {}

    using WritableFileWrapper::Append;
    rocksdb::Status Append(const rocksdb::Slice& data) override {
      const State state = *state_;
      return state == kFine ? file_->Append(data) : Failure(state);
    }
    rocksdb::Status Sync() override {
      const State state = *state_;
      return state == kFine ? file_->Sync() : Failure(state);
    }

   private:
    const std::unique_ptr<rocksdb::WritableFile> file_;
    const SharedState state_;
  };

  const std::unique_ptr<rocksdb::Env> memory_;
  const SharedState state_ = std::make_shared<std::atomic<State>>(kFine);
};

}  // namespace waggle::testing
