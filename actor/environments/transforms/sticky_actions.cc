#include "actor/environments/transforms/sticky_actions.h"

#include <utility>

#include "common/base/status_macros.h"

namespace waggle {

absl::Status StickyActions::Change(const Settings& /*settings*/, TransformedSpec* /*spec*/) {
  return absl::OkStatus();
}

StickyActions::StickyActions(const Settings& settings, TransformParts parts)
    : EnvironmentTransform(std::move(parts)),
      probability_(settings.probability),
      rngs_(LaneRngs()),
      has_taken_(static_cast<size_t>(lanes())),
      taken_(ArraysOf(spec().actions), lanes()),
      sent_(ArraysOf(spec().actions), lanes()),
      sent_pointers_(sent_.pointers().begin(), sent_.pointers().end()),
      legal_(spec(), lanes()) {}

absl::Status StickyActions::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  for (size_t row = 0; row < lanes.size(); ++row) {
    const auto lane = static_cast<size_t>(lanes[row]);
    const bool sticks = has_taken_[lane] != 0 && rngs_[lane].Uniform() < probability_ &&
                        legal_.Allow(lanes[row], taken_.pointers(), lane);
    if (!sticks) {
      taken_.CopyRow(actions, row, lane);
    }
    sent_.CopyRow(taken_.pointers(), lane, row);
    has_taken_[lane] = 1;
  }
  return inner().Send(lanes, sent_pointers_);
}

absl::StatusOr<ReadyLanes> StickyActions::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, inner().Recv(at_least, stop));
  legal_.See(ready);
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    const auto lane = static_cast<size_t>(ready.lanes[row]);
    if (ready.step_types[row] != static_cast<int32_t>(StepType::kMid)) {
      has_taken_[lane] = 0;  // At an end the next action is ignored.
    }
  }
  return ready;
}

}  // namespace waggle
