#pragma once

#include <functional>
#include <memory>

#include "common/base/threads/task_queue.h"
#include "common/net/write_reactor.h"
#include "replay_server/table/table.h"

namespace waggle {

// Sends what a table holds, a block at a time as the reader takes them. The queue outlives the stream.
class ExportSource final : public WriteSource {
 public:
  // `place` is held for as long as the export takes memory; it may be null.
  ExportSource(std::shared_ptr<Table> table, TaskQueue* queue, std::shared_ptr<const void> place = nullptr);
  ~ExportSource() override;

  void OnOpen(std::function<void()> wake) override;
  Step Next() override;

 private:
  class State;
  TaskQueue* const queue_;
  const std::shared_ptr<State> state_;  // Shared with the queue's task.
};

}  // namespace waggle
