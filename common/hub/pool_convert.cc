#include "common/hub/pool_convert.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "common/hub/hub_convert.h"

namespace waggle {
namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxResourceName = 256;
constexpr uint64_t kMaxMemory = uint64_t{1} << 60;

// The id is also part of names of tables and folders.
absl::Status ValidateExperimentId(const std::string& id) {
  WAGGLE_RETURN_IF_ERROR(ValidateName(id));
  return id.find('/') == std::string::npos && id[0] != '.'
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("\"", id, "\" holds a '/' or begins with '.'"));
}

absl::Status CheckNames(const char* field, const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (static_cast<size_t>(names.size()) > kMaxPoolNames) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": has ", names.size(), "; wanted at most ", kMaxPoolNames));
  }
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kMaxResourceName) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": a name of ", name.size(), " bytes; wanted 1 to ", kMaxResourceName));
    }
  }
  return absl::OkStatus();
}

}  // namespace

v1::WorkerKind ToProto(WorkerKind kind) {
  return static_cast<v1::WorkerKind>(kind);
}

absl::StatusOr<WorkerKind> FromProto(v1::WorkerKind proto) {
  static_assert(static_cast<int>(WorkerKind::kGradient) == v1::WorkerKind_MAX);
  return FromNumber<WorkerKind>(proto, v1::WorkerKind_IsValid(proto), "kind of worker");
}

v1::WorkOrder ToProto(const WorkOrder& order) {
  v1::WorkOrder proto;
  proto.set_number(order.number);
  proto.set_experiment_id(order.experiment_id);
  proto.set_role(ToProto(order.role));
  proto.set_index(static_cast<uint32_t>(order.index));
  proto.set_output_folder(order.output_folder);
  return proto;
}

absl::StatusOr<WorkOrder> FromProto(const v1::WorkOrder& proto) {
  WorkOrder order;
  order.number = proto.number();
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateExperimentId(proto.experiment_id()), "an order's experiment_id"));
  order.experiment_id = proto.experiment_id();
  const absl::StatusOr<Role> role = FromProto(proto.role());
  WAGGLE_RETURN_IF_ERROR(Annotate(role.status(), "an order's role"));
  order.role = *role;
  if (proto.index() > kMaxPoolIndex) {
    return absl::InvalidArgumentError(
        absl::StrCat("an order's index: got ", proto.index(), "; wanted 0 to ", kMaxPoolIndex));
  }
  order.index = proto.index();
  const std::string& folder = proto.output_folder();
  if (folder.size() > kMaxPathBytes || folder.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("an order's output_folder: ", folder.size(),
                                                   " bytes; wanted at most ", kMaxPathBytes, ", none of them zero"));
  }
  order.output_folder = folder;
  return order;
}

v1::Resources ToProto(const WorkerResources& resources) {
  v1::Resources proto;
  proto.set_cores(static_cast<uint32_t>(resources.cores));
  proto.set_memory_bytes(static_cast<uint64_t>(resources.memory_bytes));
  proto.mutable_devices()->Assign(resources.devices.begin(), resources.devices.end());
  proto.mutable_environments()->Assign(resources.environments.begin(), resources.environments.end());
  return proto;
}

absl::Status Validate(const v1::Resources& resources) {
  WAGGLE_RETURN_IF_ERROR(CheckNames("devices", resources.devices()));
  WAGGLE_RETURN_IF_ERROR(CheckNames("environments", resources.environments()));
  return resources.memory_bytes() <= kMaxMemory
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat("memory_bytes: ", resources.memory_bytes(), "; wanted at most ", kMaxMemory));
}

}  // namespace waggle
