#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/process/child_process.h"
#include "common/replay/ports/replay.h"
#include "tests/bench/process_crew.h"

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

// A waggle-replay-server from this program's folder, on a free port of the loopback interface.
class ReplayServerProcess {
 public:
  ReplayServerProcess();
  ~ReplayServerProcess();
  ReplayServerProcess(const ReplayServerProcess&) = delete;
  ReplayServerProcess& operator=(const ReplayServerProcess&) = delete;

  const std::string& address() const { return address_; }
  double ResidentBytes() const;
  // The processor time of its threads so far.
  double CpuSeconds() const;

 private:
  std::string log_;
  std::unique_ptr<ChildProcess> process_;
  std::string address_;
};

// The work of a crew's processes. Each creates the load's table first. Several servers hold one buffer.
using Addresses = std::vector<std::string>;

// Inserts `items` items, and returns when all are acknowledged. `writer` must not have written to these servers before.
ProcessCrew::Work Fill(Addresses servers, ReplayLoad load, int64_t items, std::string writer = "fill");
// Inserts until it is stopped. `producer` is its number among these servers' producers. `items_per_second` 0: as fast
// as it can.
ProcessCrew::Work Produce(Addresses servers, ReplayLoad load, int producer, double items_per_second = 0);

struct ConsumeOptions {
  int64_t prefetch = 4;
  bool update = false;  // Sends a new priority for each item.
};
// Samples until it is stopped, and times each call.
ProcessCrew::Work Consume(Addresses servers, ReplayLoad load, ConsumeOptions options);

// Samples some batches, then updates their priorities until it is stopped: `batches_per_wait` batches before it waits
// until they are applied.
ProcessCrew::Work UpdateOnly(Addresses servers, ReplayLoad load, int batches_per_wait);

}  // namespace waggle::bench
