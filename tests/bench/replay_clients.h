#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/process/child_process.h"
#include "tests/bench/process_crew.h"
#include "tests/bench/replay_load.h"

namespace waggle::bench {

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
