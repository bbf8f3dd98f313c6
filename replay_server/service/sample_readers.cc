#include "replay_server/service/sample_readers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/problems.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/table/client_words.h"

namespace waggle {
namespace {

constexpr absl::Duration kLongestStep = absl::Seconds(3);

}  // namespace

absl::Status SampleReadersOptions::Validate() const {
  Problems problems;
  problems.AddUnless(patience > absl::ZeroDuration(), "patience: got ", absl::FormatDuration(patience),
                     "; wanted more than 0");
  problems.AddUnless(shortage > absl::ZeroDuration(), "shortage: got ", absl::FormatDuration(shortage),
                     "; wanted more than 0");
  return problems.ToStatus("", "; ");
}

std::shared_ptr<SampleReaders::Reader> SampleReaders::Add(std::string table, std::string who,
                                                          std::function<void(absl::Status)> abort) {
  const std::shared_ptr<Reader> reader(new Reader(std::move(table), std::move(who), std::move(abort)));
  MutexLock lock(&mutex_);
  if (readers_.size() == readers_.capacity()) {
    SweepLocked();  // Bounds the list by the number of living streams, however fast streams come and go.
  }
  readers_.push_back(reader);
  return reader;
}

void SampleReaders::SweepLocked() {
  readers_.erase(std::remove_if(readers_.begin(), readers_.end(),
                                [](const std::weak_ptr<Reader>& reader) { return reader.expired(); }),
                 readers_.end());
}

std::vector<std::shared_ptr<SampleReaders::Reader>> SampleReaders::PresentLocked() const {
  std::vector<std::shared_ptr<Reader>> present;
  for (const std::weak_ptr<Reader>& weak : readers_) {
    if (std::shared_ptr<Reader> reader = weak.lock(); reader != nullptr) {
      present.push_back(std::move(reader));
    }
  }
  return present;
}

void SampleReaders::Tend(absl::Time now) {
  std::vector<std::shared_ptr<Reader>> readers;  // Released outside the lock, as is `stuck`.
  std::vector<std::shared_ptr<Reader>> stuck;
  absl::Duration longest;
  {
    MutexLock lock(&mutex_);
    SweepLocked();
    const absl::Duration step = last_ == absl::InfinitePast()
                                    ? absl::ZeroDuration()
                                    : std::clamp(now - last_, absl::ZeroDuration(), kLongestStep);
    last_ = now;
    readers = PresentLocked();
    for (const std::shared_ptr<Reader>& reader : readers) {
      const uint64_t granted = reader->granted_.load(std::memory_order_relaxed);
      const bool waits = reader->waiting_.load(std::memory_order_relaxed) > 0;
      reader->waited_ = waits && granted == reader->granted_then_ ? reader->waited_ + step : absl::ZeroDuration();
      reader->granted_then_ = granted;
      const uint64_t taken = reader->taken_.load(std::memory_order_relaxed);
      const bool handed = reader->handed_.load(std::memory_order_relaxed) > 0;
      reader->unread_ = handed && taken == reader->taken_then_ ? reader->unread_ + step : absl::ZeroDuration();
      reader->taken_then_ = taken;
      if (reader->unread_ >= options_.patience && reader->bytes_.load(std::memory_order_relaxed) > 0) {
        stuck.push_back(reader);
      } else {
        longest = std::max(longest, reader->waited_);
      }
    }
  }
  if (longest < options_.shortage) {
    return;
  }
  for (const std::shared_ptr<Reader>& reader : stuck) {
    reader->abort_(Refusal(absl::StatusCode::kUnavailable, reasons::kNotReading, "the sampler of table \"",
                           reader->table_, "\" has read nothing for ", SecondsText(options_.patience),
                           " while others wait for the memory of its batches"));
  }
}

void SampleReaders::Describe(int64_t limit, std::vector<TablePicture>* pictures) const {
  std::map<std::string, SampleMemory> waits;  // By table.
  std::vector<SampleMemory::Holder> holders;
  std::vector<std::shared_ptr<Reader>> readers;  // Released outside the lock.
  {
    MutexLock lock(&mutex_);
    readers = PresentLocked();
    for (const std::shared_ptr<Reader>& reader : readers) {
      const int64_t waiting = reader->waiting_.load(std::memory_order_relaxed);
      if (waiting > 0) {
        SampleMemory* const memory = &waits[reader->table_];
        memory->waiting += waiting;
        if (memory->who.empty() || reader->waited_ > memory->waited) {
          memory->waited = reader->waited_;
          memory->who = reader->who_;
        }
      }
      if (const int64_t bytes = reader->bytes_.load(std::memory_order_relaxed); bytes > 0) {
        holders.push_back({reader->table_, reader->who_, bytes, reader->unread_});
      }
    }
  }
  std::sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  for (TablePicture& picture : *pictures) {
    if (const auto found = waits.find(picture.config->name); found != waits.end()) {
      picture.sample_memory = found->second;
      picture.sample_memory.limit = limit;
      picture.sample_memory.holders = holders;
    }
  }
}

}  // namespace waggle
