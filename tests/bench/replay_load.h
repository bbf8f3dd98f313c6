#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/api/replay.h"
#include "common/process/child_process.h"
#include "tests/bench/process_crew.h"

namespace waggle::bench {

// What is written and sampled. A producer sends blocks of `lanes` streams by `rows` rows; each row ends an item of
// `window` rows, but for those at a stream's beginning.
struct ReplayLoad {
  std::string name;
  TableConfig table;
  uint32_t lanes = 1;
  uint32_t rows = 1;
  uint32_t window = 1;
  uint32_t context = 0;  // Rows before an item's window that belong to it too.
  int64_t batch_size = 512;
  Codec compression = Codec::kNone;  // Of sampled batches on their way.

  double RowBytes() const;    // What an item more costs to insert.
  double BatchBytes() const;  // As sampled, the facts about the items included.
  double BlockBytes() const { return RowBytes() * lanes * rows; }
};

// Items of one row of one column of bytes that nothing shares.
ReplayLoad BytesLoad(const std::string& name, int64_t bytes);
// Transitions of CartPole, 52 bytes in five columns, a row each.
ReplayLoad CartPoleTransitions();
// The same transitions, three steps long, as an actor of Waggle sends them: each row once, and four of them an item.
ReplayLoad CartPoleWindows();
// Frames of 84×84 bytes, a row each. An item is a transition over three steps with four stacked frames at either end,
// which the server stacks. The screens are nearly empty, as Pong's are, so that they compress about as well.
ReplayLoad Frames();

// A waggle-replay-server beside this program's executable, on a free port of the loopback interface.
class ReplayServerProcess {
 public:
  ReplayServerProcess();
  ~ReplayServerProcess();
  ReplayServerProcess(const ReplayServerProcess&) = delete;
  ReplayServerProcess& operator=(const ReplayServerProcess&) = delete;

  const std::string& address() const { return address_; }
  double ResidentBytes() const;
  // That its threads have run so far.
  double CpuSeconds() const;

 private:
  std::string log_;
  std::unique_ptr<ChildProcess> process_;
  std::string address_;
};

// What the processes of a crew do. Each creates the load's table first. Several servers are one buffer.
using Addresses = std::vector<std::string>;

// Inserts `items` items, and returns when all are acknowledged. `writer` has not written to these servers before.
ProcessCrew::Work Fill(Addresses servers, ReplayLoad load, int64_t items, std::string writer = "fill");
// Inserts for as long as it may; `producer` numbers those of these servers. `items_per_second` 0: as fast as it can.
ProcessCrew::Work Produce(Addresses servers, ReplayLoad load, int producer, double items_per_second = 0);

struct ConsumeOptions {
  int64_t prefetch = 4;
  bool update = false;  // Sends a new priority for each item back.
};
// Samples for as long as it may, and times each call.
ProcessCrew::Work Consume(Addresses servers, ReplayLoad load, ConsumeOptions options);

// Samples some batches, and then updates their priorities for as long as it may, `batches_per_wait` batches before it
// waits until they are applied.
ProcessCrew::Work UpdateOnly(Addresses servers, ReplayLoad load, int batches_per_wait);

}  // namespace waggle::bench
