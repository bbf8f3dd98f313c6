#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/rpc/rpc_spec.h"
#include "actor/writing/ready_rows.h"

namespace waggle {

// One lane's part of an answer to a step, without observations and rewards.
struct RpcRow {
  std::optional<float> discount;     // Absent if the server has none.
  std::optional<int32_t> step_type;  // Present if the server steps several lanes.
};

// INTERNAL, with the tensor's name on the server, unless the answer has all tensors that the spec asks for, in their
// types and shapes.
absl::Status CheckAnswer(const RpcSpec& spec, const dm::StepResponse& answer);

// Writes the observations and rewards of a stream's lane `row` to row `ahead` after the next one of `rows`. The caller
// calls Add. The answer must have passed CheckAnswer. INTERNAL, with the leaf's name, if a number is not finite, a
// choice is invalid, or a discount is outside [0, 1].
absl::StatusOr<RpcRow> ReadRow(const RpcSpec& spec, const dm::StepResponse& answer, int64_t row, int64_t ahead,
                               ReadyRows* rows);

struct RpcStep {
  StepType type = StepType::kMid;
  float discount = 1;
};

// A row's step type and discount. `begins`: an episode begins in the lane. INTERNAL if the stream's state or the row's
// step type is out of order.
absl::StatusOr<RpcStep> StepOf(dm::EnvironmentStateType state, const RpcRow& row, bool begins);

}  // namespace waggle
