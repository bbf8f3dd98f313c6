#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "replay_server/rows/chunk.h"

namespace waggle {

class ChunkTier;

// The rows of a block that has a tier.
struct TieredRows {
  TieredRows(std::shared_ptr<ChunkTier> of, ChunkBlock* block_of, DurableBlock* durable_of, size_t its_bytes);

  const std::shared_ptr<ChunkTier> tier;
  ChunkBlock* const block;
  DurableBlock* const durable;  // Null where no journal may write it.
  const size_t bytes;

  // The tier's, under its lock.
  using List = std::list<TieredRows*>;
  char* data = nullptr;
  uint64_t cold_id = 0;    // Its number on disk, where that is not the journal's; 0: it was never written.
  uint32_t pins = 0;       // They may not be let go of.
  bool recent = false;     // Pinned since it was looked at last.
  bool written = false;    // They are on disk.
  bool condemned = false;  // They are to be written, so that they can be let go of.
  bool loading = false;    // Somebody reads them.
  List* in = nullptr;
  List::iterator at;
};

// Whether its rows have a record on disk, whoever has written it.
bool OnDisk(const TieredRows& rows);

// Memory for rows, not initialised.
char* AllocateRows(size_t bytes);
void FreeRows(char* data);

// Memory of rows that is freed with it: after the lock under which they were let go of.
class FreedRows {
 public:
  FreedRows() = default;
  FreedRows(const FreedRows&) = delete;
  FreedRows& operator=(const FreedRows&) = delete;
  ~FreedRows();

  // Of AllocateRows.
  void Add(char* data) { data_.push_back(data); }
  bool empty() const { return data_.empty(); }

 private:
  std::vector<char*> data_;
};

// Which of a tier's rows are in memory, how many bytes these are, and which of them leave it next: by second chance, a
// block that was read since it was looked at last goes to the back of the queue. What leaves and is not on disk yet is
// condemned first, for its tier to write. Not thread-safe.
class RowClock {
 public:
  int64_t bytes() const { return bytes_; }                // Of all rows.
  int64_t memory_bytes() const { return memory_bytes_; }  // Of those in memory, or being read.
  bool any_condemned() const { return !condemned_.empty(); }

  void Add(TieredRows* rows, char* data);
  // Rows that are on disk only.
  void AddCold(TieredRows* rows);
  // Nothing refers to them any more.
  void Remove(TieredRows* rows, FreedRows* freed);

  // Lets go of rows, or condemns them, until no more than `target` bytes are left that are not condemned.
  void MakeRoom(int64_t target, FreedRows* freed);
  // Lets go of rows that are on disk already, out of turn, until no more than `target` bytes are left in all, as far as
  // there are any.
  void DropWritten(int64_t target, FreedRows* freed);

  // Rows that are to be written, the ones that were condemned first; null where there are none.
  TieredRows* TakeCondemned();
  // What became of them. They are let go of unless somebody has pinned them meanwhile.
  void EndWriting(TieredRows* rows, FreedRows* freed);
  void WriteLater(TieredRows* rows);

  // Somebody reads these rows, whose memory counts from then on; it is there, or could not be read.
  void BeginLoad(const std::vector<TieredRows*>& rows);
  void EndLoad(TieredRows* rows, char* data);
  void GiveLoadUp(TieredRows* rows);

 private:
  using List = TieredRows::List;

  static void Move(TieredRows* rows, List* to);
  void Drop(TieredRows* rows, FreedRows* freed);

  List clock_;      // In memory; the first one is looked at next.
  List condemned_;  // In memory, and to be written.
  List away_;       // On disk only, or being written or read.
  int64_t bytes_ = 0;
  int64_t memory_bytes_ = 0;
  int64_t condemned_bytes_ = 0;  // Of those to be written, or being written.
};

}  // namespace waggle
