#include "param_server/pool/attendance.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/tensor/array_spec.h"

namespace waggle {
namespace {

constexpr size_t kMaxText = 256;

absl::Status ValidateCount(const char* what, size_t count, size_t most) {
  return count <= most
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(what, ": ", count, " of them; at most ", most, " are allowed"));
}

}  // namespace

absl::Status Validate(const Attendance& attendance) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(attendance.worker_id), "worker_id"));
  WAGGLE_RETURN_IF_ERROR(ValidateCount("host: characters", attendance.host.size(), kMaxText));
  if (!attendance.address.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateReachable(attendance.address), "address"));
  }
  if (!attendance.storage_id.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(attendance.storage_id), "storage_id"));
  }
  if (attendance.capacity < 1 || attendance.capacity > kMaxPoolCapacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("capacity: got ", attendance.capacity, "; wanted 1 to ", kMaxPoolCapacity));
  }
  WAGGLE_RETURN_IF_ERROR(ValidateCount("held", attendance.held.size(), 2 * kMaxPoolCapacity));
  WAGGLE_RETURN_IF_ERROR(ValidateCount("kept", attendance.kept.size(), kMaxPoolKept));
  WAGGLE_RETURN_IF_ERROR(ValidateCount("devices", attendance.resources.devices.size(), kMaxPoolNames));
  return ValidateCount("environments", attendance.resources.environments.size(), kMaxPoolNames);
}

}  // namespace waggle
