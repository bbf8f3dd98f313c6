#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/ready_rows.h"
#include "actor/rpc_environments/rpc_spec.h"

namespace waggle {

// An answer to a step, for one lane, beside its observations and rewards.
struct RpcRow {
  std::optional<float> discount;     // Absent: the server tells none.
  std::optional<int32_t> step_type;  // If it steps several lanes.
};

// INTERNAL, with the server's name of it, unless all that the spec asks for is there, in its types and shapes.
absl::Status CheckAnswer(const RpcSpec& spec, const dm::StepResponse& answer);

// Writes the observations and rewards of a stream's lane `row` to where `rows` has the row that is `ahead` after its
// next; Add remains to be called. The answer has been checked. INTERNAL, with the leaf's name, for what is not finite,
// no choice, or a discount outside [0, 1].
absl::StatusOr<RpcRow> ReadRow(const RpcSpec& spec, const dm::StepResponse& answer, int64_t row, int64_t ahead,
                               ReadyRows* rows);

}  // namespace waggle
