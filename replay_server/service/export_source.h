#pragma once

#include <functional>
#include <memory>

#include "common/base/threads/task_queue.h"
#include "common/net/write_reactor.h"
#include "replay_server/table/table.h"

namespace waggle {

// Sends a table's items, block by block as the reader takes them. The queue must outlive the stream.
class ExportSource final : public WriteSource {
 public:
  // Holds `place`, which may be null, for as long as the export takes memory.
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
