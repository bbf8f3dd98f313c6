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
  DurableBlock* const durable;  // Null if no journal may write it.
  const size_t bytes;

  // All below is guarded by the tier's lock.
  using List = std::list<TieredRows*>;
  char* data = nullptr;
  uint64_t cold_id = 0;    // Id in the cold database; 0 before the first write there.
  uint32_t pins = 0;       // Pinned rows cannot be freed.
  bool recent = false;     // Pinned since the clock passed it last.
  bool written = false;    // On disk.
  bool condemned = false;  // Must be written before it can be freed.
  bool loading = false;    // A reader loads it.
  List* in = nullptr;
  List::iterator at;
};

// True if the journal or the tier has written the rows.
bool OnDisk(const TieredRows& rows);

// Uninitialised memory for rows.
char* AllocateRows(size_t bytes);
void FreeRows(char* data);

// Frees the memory of rows when it is destroyed, which must be after the tier's lock is released.
class FreedRows {
 public:
  FreedRows() = default;
  FreedRows(const FreedRows&) = delete;
  FreedRows& operator=(const FreedRows&) = delete;
  ~FreedRows();

  // `data` is from AllocateRows.
  void Add(char* data) { data_.push_back(data); }
  bool empty() const { return data_.empty(); }

 private:
  std::vector<char*> data_;
};

// Tracks which of a tier's rows are in memory, and chooses the ones that leave next by second chance: a block that was
// read since its last turn goes to the back of the queue. Chosen rows that are not on disk yet are condemned: their
// tier must write them first. Not thread-safe.
class RowClock {
 public:
  int64_t bytes() const { return bytes_; }                // All rows.
  int64_t memory_bytes() const { return memory_bytes_; }  // Rows in memory or being read.
  bool any_condemned() const { return !condemned_.empty(); }

  void Add(TieredRows* rows, char* data);
  // Adds rows that are on disk only.
  void AddCold(TieredRows* rows);
  void Remove(TieredRows* rows, FreedRows* freed);

  // Frees or condemns rows until at most `target` bytes that are not condemned remain. Stops early if only pinned rows
  // are left.
  void MakeRoom(int64_t target, FreedRows* freed);
  // Frees rows that are on disk, out of turn, until at most `target` bytes are in memory or no such rows are left.
  void DropWritten(int64_t target, FreedRows* freed);

  // The rows that were condemned first, which the caller must write; null if there are none.
  TieredRows* TakeCondemned();
  // End the writing of taken rows: EndWriting after success, which frees unread ones, WriteLater after an error.
  void EndWriting(TieredRows* rows, FreedRows* freed);
  void WriteLater(TieredRows* rows);

  // The bytes count as memory from BeginLoad on. EndLoad ends a read, GiveLoadUp a failed one.
  void BeginLoad(const std::vector<TieredRows*>& rows);
  void EndLoad(TieredRows* rows, char* data);
  void GiveLoadUp(TieredRows* rows);

 private:
  using List = TieredRows::List;

  static void Move(TieredRows* rows, List* to);
  void Drop(TieredRows* rows, FreedRows* freed);

  List clock_;      // In memory. The front is the next to leave.
  List condemned_;  // In memory, must be written.
  List away_;       // On disk only, or being written or read.
  int64_t bytes_ = 0;
  int64_t memory_bytes_ = 0;
  int64_t condemned_bytes_ = 0;  // Bytes that must be written or are being written.
};

}  // namespace waggle
