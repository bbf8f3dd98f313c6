#include "replay_server/writers/writer_change_log.h"

#include <algorithm>
#include <utility>

#include "common/base/tensor/checksum.h"

namespace waggle {

uint64_t Fingerprint(const InsertBlock& block) {
  Checksummer sum;
  const auto add = [&sum](uint64_t value) { sum.Update(&value, sizeof(value)); };
  add(block.chunks.size());
  for (const ChunkInfo& chunk : block.chunks) {
    add(chunk.stream);
    add(chunk.first_row);
    add(chunk.rows);
  }
  for (const ItemInfo& item : block.items) {
    add((uint64_t{item.table} << 32) | item.stream);
    add(item.first_row);
    add((uint64_t{item.rows} << 32) | item.context_rows);
    sum.Update(&item.priority, sizeof(item.priority));
  }
  add(block.policy_version);
  add(block.highest_priority ? 1 : 0);
  add(block.checksum.value_or(0));
  return sum.Digest();
}

void WriterChangeLog::Restore(const SavedWriter& saved, std::vector<WriterMark> marks) {
  saved_blocks_ = saved.fingerprints;
  saved_marks_ = std::move(marks);
  added_up_ = saved.counts;
}

void WriterChangeLog::ReplaceStreams(std::vector<StreamRecord> streams, std::vector<StreamRecord>* replaced) {
  if (later_.empty()) {
    PutStreams(std::move(streams), replaced);
  } else {
    *replaced = std::exchange(later_.back().streams, std::move(streams));
  }
}

void WriterChangeLog::PutStreams(std::vector<StreamRecord> streams, std::vector<StreamRecord>* replaced) {
  for (StreamRecord& record : streams) {
    StreamRecord& place = changed_[record.stream];
    std::swap(place, record);
    if (!record.parts.empty()) {
      replaced->push_back(std::move(record));
    }
  }
}

void WriterChangeLog::AddUp(uint64_t sequence, std::vector<StreamRecord>* replaced) {
  while (!later_.empty() && later_.front().sequence <= sequence) {
    BlockChanges& block = later_.front();
    PutStreams(std::move(block.streams), replaced);
    added_up_.items_inserted += block.result.items_inserted;
    added_up_.items_without_rows += block.result.items_without_rows;
    later_.pop_front();
  }
}

WriterChanges WriterChangeLog::Take() {
  WriterChanges changes;
  changes.counts = added_up_;
  changes.fingerprints.reserve(later_.size() + saved_blocks_.size());
  for (const BlockChanges& block : later_) {
    changes.fingerprints.emplace_back(block.sequence, block.fingerprint);
  }
  changes.fingerprints.insert(changes.fingerprints.end(), saved_blocks_.begin(), saved_blocks_.end());
  changes.streams.reserve(changed_.size());
  for (auto& [stream, record] : changed_) {
    changes.streams.push_back(std::move(record));
  }
  changed_.clear();
  return changes;
}

bool WriterChangeLog::IsSaved(uint64_t sequence, uint64_t fingerprint) const {
  return std::find(saved_blocks_.begin(), saved_blocks_.end(), std::make_pair(sequence, fingerprint)) !=
         saved_blocks_.end();
}

std::vector<uint64_t> WriterChangeLog::CountSaved(uint64_t sequence,
                                                  const std::vector<std::vector<NewItem>>& items) const {
  std::vector<uint64_t> counts(items.size());
  for (size_t i = 0; has_saved() && i < items.size(); ++i) {
    if (sequence <= saved_marks_[i].sequence) {
      counts[i] = items[i].size();
    } else if (sequence == saved_marks_[i].sequence + 1) {
      counts[i] = std::min<uint64_t>(saved_marks_[i].items, items[i].size());
    }
  }
  return counts;
}

void WriterChangeLog::ForgetSavedUpTo(uint64_t sequence) {
  saved_blocks_.erase(saved_blocks_.begin(),
                      std::find_if(saved_blocks_.begin(), saved_blocks_.end(),
                                   [sequence](const auto& block) { return block.first > sequence; }));
}

}  // namespace waggle
