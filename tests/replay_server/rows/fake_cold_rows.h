#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/threads/mutex.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/rows/cold_rows.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle::testing {

// A disk in memory that can be slow, full or damaged.
class FakeColdRows final : public ColdRows {
 public:
  // A block's number. Blocks that a journal may write too (true) have numbers of their own.
  using Id = std::pair<bool, uint64_t>;

  absl::Status Write(absl::Span<const ColdBlock> blocks) override {
    MutexLock lock(&mutex_);
    ++waiting_;
    changed_.SignalAll();
    while (held_) {
      changed_.Wait(&mutex_);
    }
    --waiting_;
    if (!failure_.ok()) {
      return failure_;
    }
    for (const ColdBlock& block : blocks) {
      rows_[IdOf(block)] = std::string(block.data, block.bytes);
      ++writes_;
    }
    return absl::OkStatus();
  }

  absl::Status Read(absl::Span<const ColdBlock> blocks) override {
    std::function<void()> on_read;
    {
      MutexLock lock(&mutex_);
      on_read = on_read_;
    }
    if (on_read != nullptr) {
      on_read();
    }
    MutexLock lock(&mutex_);
    if (!read_failure_.ok()) {
      return read_failure_;
    }
    for (const ColdBlock& block : blocks) {
      const auto found = rows_.find(IdOf(block));
      if (found == rows_.end() || found->second.size() != block.bytes || damaged_) {
        return absl::DataLossError("the fake disk has other rows");
      }
      found->second.copy(block.data, block.bytes);
    }
    return absl::OkStatus();
  }

  absl::Status Delete(absl::Span<const Gone> blocks) override {
    MutexLock lock(&mutex_);
    for (const Gone& block : blocks) {
      rows_.erase({block.durable, block.id});
    }
    return absl::OkStatus();
  }

  // True: writes wait. False: they continue.
  void Hold(bool held) { Set(&FakeColdRows::held_, held); }
  void AwaitWriter() {
    MutexLock lock(&mutex_);
    while (waiting_ == 0) {
      changed_.Wait(&mutex_);
    }
  }
  void Fail(absl::Status failure) { Set(&FakeColdRows::failure_, std::move(failure)); }
  void FailReads(absl::Status failure) { Set(&FakeColdRows::read_failure_, std::move(failure)); }
  void Damage(bool damaged) { Set(&FakeColdRows::damaged_, damaged); }
  // Called in each Read.
  void OnRead(std::function<void()> on_read) { Set(&FakeColdRows::on_read_, std::move(on_read)); }
  int64_t writes() const {
    MutexLock lock(&mutex_);
    return writes_;
  }
  size_t blocks() const {
    MutexLock lock(&mutex_);
    return rows_.size();
  }

 private:
  template <class T>
  void Set(T FakeColdRows::*field, T value) {
    MutexLock lock(&mutex_);
    this->*field = std::move(value);
    changed_.SignalAll();
  }
  static Id IdOf(const ColdBlock& block) {
    return {block.durable != nullptr, block.durable != nullptr ? block.durable->id : block.id};
  }

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<Id, std::string> rows_ ABSL_GUARDED_BY(mutex_);
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  bool damaged_ ABSL_GUARDED_BY(mutex_) = false;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Status read_failure_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_read_ ABSL_GUARDED_BY(mutex_);
};

// The size of the blocks below.
inline constexpr int64_t kTieredBlockBytes = 1000;

// A block of one chunk with one row, every byte of which is `value`.
inline ChunkRef TieredBlock(const std::shared_ptr<ChunkTier>& tier, char value, BlockHome home = {}) {
  static const auto layout =
      std::make_shared<const RowLayout>(std::vector<ArraySpec>{{"bytes", DType::kUint8, {kTieredBlockBytes}}});
  home.tier = tier;
  NewBlock made = MakeChunks(layout, std::vector<uint32_t>{1}, 1, {}, std::move(home));
  std::fill(made.data, made.data + made.bytes, value);
  return made.chunks.front();
}

// True if the rows of a pinned block have this value.
inline bool HasBytes(const Chunk& chunk, char value) {
  static const RowLayout layout({{"bytes", DType::kUint8, {kTieredBlockBytes}}});
  const char* const row = chunk.Row(layout, 0, 0);
  return std::all_of(row, row + kTieredBlockBytes, [value](char byte) { return byte == value; });
}

}  // namespace waggle::testing
