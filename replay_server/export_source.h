#pragma once

#include <functional>
#include <memory>

#include "common/base/task_queue.h"
#include "common/rpc/write_reactor.h"
#include "replay_server/table/table.h"

namespace waggle {

// Sends what a table holds, a block at a time as the reader takes them. The queue outlives the stream.
class ExportSource final : public WriteSource {
 public:
  ExportSource(std::shared_ptr<Table> table, TaskQueue* queue);
  ~ExportSource() override;

  void OnOpen(std::function<void()> wake) override;
  Step Next() override;

 private:
  class State;
  TaskQueue* const queue_;
  const std::shared_ptr<State> state_;  // Shared with the queue's task.
};

}  // namespace waggle
