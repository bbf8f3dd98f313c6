#pragma once

#include <functional>
#include <memory>

#include "common/base/executor.h"
#include "common/rpc/write_reactor.h"
#include "replay_server/table/table.h"

namespace waggle {

// Sends what a table holds, a block at a time as the reader takes them. The executor outlives the stream.
class ExportSource final : public WriteSource {
 public:
  // `place` is held for as long as the export takes memory; it may be null.
  ExportSource(std::shared_ptr<Table> table, Executor* executor, std::shared_ptr<const void> place = nullptr);
  ~ExportSource() override;

  void OnOpen(std::function<void()> wake) override;
  Step Next() override;

 private:
  class State;
  Executor* const executor_;
  const std::shared_ptr<State> state_;  // Shared with the executor's task.
};

}  // namespace waggle
