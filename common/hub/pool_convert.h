#pragma once

#include "absl/status/statusor.h"
#include "common/hub/ports/pool.h"
#include "waggle/v1/pool.pb.h"

// Converts the pool's messages to and from the types of its port. FromProto returns INVALID_ARGUMENT, naming the
// mistake, for a bad message.

namespace waggle {

v1::WorkerKind ToProto(WorkerKind kind);
absl::StatusOr<WorkerKind> FromProto(v1::WorkerKind proto);

v1::WorkOrder ToProto(const WorkOrder& order);
absl::StatusOr<WorkOrder> FromProto(const v1::WorkOrder& proto);

v1::Resources ToProto(const WorkerResources& resources);
// INVALID_ARGUMENT for numbers or names that no machine has.
absl::Status Validate(const v1::Resources& resources);

}  // namespace waggle
