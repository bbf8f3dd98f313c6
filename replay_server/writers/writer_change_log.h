#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/api/replay.h"
#include "replay_server/items/table_log.h"

namespace waggle {

// What a block is known by when it comes again: of what it says, and of its rows where it has a checksum of them.
uint64_t Fingerprint(const InsertBlock& block);

// What a block does to its writer, until its time has come to be written down.
struct BlockChanges {
  uint64_t sequence = 0;
  uint64_t fingerprint = 0;
  WriterCounts result;
  std::vector<StreamRecord> streams;
};

// What of a writer is to be written down: all that its blocks have changed up to one of them, added up, and what each
// later one changes. Not thread-safe.
class WriterChangeLog {
 public:
  // The writer goes on from there.
  void Restore(const SavedWriter& saved);

  // Blocks come in their order.
  void Add(BlockChanges changes) { later_.push_back(std::move(changes)); }
  // All of the writer's streams are another way now, as of the last block. What that takes the place of, here and
  // below, is left in `replaced`, to be freed outside the lock.
  void ReplaceStreams(std::vector<StreamRecord> streams, std::vector<StreamRecord>* replaced);
  // Adds the changes of blocks up to `sequence` up.
  void AddUp(uint64_t sequence, std::vector<StreamRecord>* replaced);
  // Hands over what is added up and was not handed over yet.
  WriterChanges Take();

  // Of a restored writer: what is known of blocks that were in a table before they were in all, until they come again
  // or one comes that is none of them. They are written down with the later ones: the server may crash before they
  // come.
  bool has_saved() const { return !saved_blocks_.empty(); }
  bool IsSaved(uint64_t sequence, uint64_t fingerprint) const;
  void ForgetSaved() { saved_blocks_.clear(); }
  void ForgetSavedUpTo(uint64_t sequence);

 private:
  // Puts records in the place of those that it has of these streams.
  void PutStreams(std::vector<StreamRecord> streams, std::vector<StreamRecord>* replaced);

  WriterCounts added_up_;
  absl::flat_hash_map<uint32_t, StreamRecord> changed_;
  std::deque<BlockChanges> later_;
  BlockFingerprints saved_blocks_;
};

}  // namespace waggle
