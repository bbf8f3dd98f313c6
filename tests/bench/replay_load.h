#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/random.h"
#include "common/replay/ports/replay.h"

namespace waggle::bench {

// A load of writes and samples. A producer sends blocks of `lanes` streams with `rows` rows each; each row ends an item
// of `window` rows, except at a stream's beginning.
struct ReplayLoad {
  std::string name;
  TableConfig table;
  uint32_t lanes = 1;
  uint32_t rows = 1;
  uint32_t window = 1;
  uint32_t context = 0;  // Rows before an item's window that belong to it too.
  int64_t batch_size = 512;
  Codec compression = Codec::kNone;  // For sampled batches on the wire.

  double RowBytes() const;    // The bytes that one more item costs to insert.
  double BatchBytes() const;  // The bytes of a sampled batch, with the facts about its items.
  double BlockBytes() const { return RowBytes() * lanes * rows; }
};

// Items of one row with one column of bytes, which share no rows.
ReplayLoad BytesLoad(const std::string& name, int64_t bytes);
// Transitions of CartPole: 52 bytes in five columns, one row each.
ReplayLoad CartPoleTransitions();
// The same transitions over three steps, as an actor of Waggle sends them: each row once, and four rows in an item.
ReplayLoad CartPoleWindows();
// Frames of 84×84 bytes, one row each. An item is a transition over three steps with four stacked frames at either end,
// which the server stacks. The screens are nearly empty, like Pong's, so that they compress about as well.
ReplayLoad Frames();

// The options of a writer of this load.
ReplayWriterOptions WriterOptions(const ReplayLoad& load, const std::string& writer_id);

// Makes the blocks of a load, one after the other, with equal bytes.
class BlockSource {
 public:
  explicit BlockSource(const ReplayLoad& load);

  int64_t ItemsPerBlock() const { return int64_t{load_.lanes} * load_.rows; }
  InsertBlock Next();

 private:
  const ReplayLoad load_;
  const size_t size_;
  const std::shared_ptr<char> data_;
  uint64_t next_row_ = 0;
  Rng rng_{5};
};

}  // namespace waggle::bench
