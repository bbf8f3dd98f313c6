#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/replay/ports/replay.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"

namespace waggle {

// Identifies a block that is sent again: covers its metadata and the checksum of its rows, if it has one.
uint64_t Fingerprint(const InsertBlock& block);

// A block's changes of its writer, kept until they can be saved.
struct BlockChanges {
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;
  WriterCounts result;
  std::vector<StreamRecord> streams;
};

// A writer's unsaved changes: the sum up to one of its blocks, and each later block's. Not thread-safe.
class WriterChangeLog {
 public:
  // The writer continues from there. `marks` are its marks by table.
  void Restore(const SavedWriter& saved, std::vector<WriterMark> marks = {});

  // Blocks must come in order.
  void Add(BlockChanges changes) { later_.push_back(std::move(changes)); }
  // Replaces all streams, as of the last block. `replaced` gets the old records, to be freed outside the lock.
  void ReplaceStreams(std::vector<StreamRecord> streams, std::vector<StreamRecord>* replaced);
  // Adds blocks up to `sequence` to the sum.
  void AddUp(uint64_t sequence, std::vector<StreamRecord>* replaced);
  // Returns the part of the sum that was not returned yet.
  WriterChanges Take();

  // Blocks of a restored writer that some of its tables had and others lacked. They are known until they come again or
  // another block comes instead. Until then they are saved with later changes: the server may crash again.
  bool has_saved() const { return !saved_blocks_.empty(); }
  bool IsSaved(uint64_t sequence, uint64_t fingerprint) const;
  // By table: the number of a block's items that it had before the server restarted.
  std::vector<uint64_t> CountSaved(uint64_t sequence, const std::vector<std::vector<NewItem>>& items) const;
  void ForgetSaved() { saved_blocks_.clear(); }
  void ForgetSavedUpTo(uint64_t sequence);

 private:
  // Replaces the records of these streams.
  void PutStreams(std::vector<StreamRecord> streams, std::vector<StreamRecord>* replaced);

  WriterCounts added_up_;
  absl::flat_hash_map<uint32_t, StreamRecord> changed_;
  std::deque<BlockChanges> later_;
  BlockFingerprints saved_blocks_;
  std::vector<WriterMark> saved_marks_;
};

}  // namespace waggle
