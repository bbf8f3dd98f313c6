#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/table_config/batch_layout.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/items/table_rules.h"
#include "replay_server/items/table_state.h"
#include "replay_server/table/requester.h"
#include "replay_server/table/writer_marks.h"

// What waits for its turn at a table.

namespace waggle {

// A batch that is to be drawn.
struct WaitingSample {
  uint64_t request = 0;
  std::shared_ptr<const BatchLayout> layout;
  DrawRequest draw;
  std::function<void(absl::StatusOr<DrawnBatch>)> done;
  Requester* requester = nullptr;  // May be null.
  // Once it has to wait: the above kept alive, and since when (by SteadyElapsed()).
  std::shared_ptr<Requester> keeps_requester = nullptr;
  absl::Duration since = absl::ZeroDuration();
};

}  // namespace waggle
