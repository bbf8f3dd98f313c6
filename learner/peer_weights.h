#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "common/rl/training/trainee.h"

namespace waggle {

// Obeys the hub's orders (Exploit) to the learner of a population's member, each once. One thread.
class PeerWeights {
 public:
  // A subscriber to the weights of another member.
  using Subscribe = std::function<std::unique_ptr<ModelSubscriber>(const std::string& experiment_id)>;

  // `obeyed`: the serial of the last order that the trainee's weights follow from. The pointers must outlive this.
  PeerWeights(HubLink* hub, Subscribe subscribe, Trainee* trainee, uint64_t obeyed);

  // If there is another order, loads the other member's newest weights into the trainee, and returns true. Waits for a
  // hub that is away: CANCELLED after a stop of `stop`. An order is dropped, with a warning, if the other member has no
  // weights or does not run any more. FAILED_PRECONDITION if they are of another network.
  absl::StatusOr<bool> TakeIfOrdered(const StopToken& stop);

  // The serial of the last order that was obeyed or dropped.
  uint64_t obeyed() const { return obeyed_; }

 private:
  HubLink* const hub_;
  const Subscribe subscribe_;
  Trainee* const trainee_;
  uint64_t obeyed_;
};

}  // namespace waggle
