#include "common/hub_client/pool_convert.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_convert.h"
#include "common/tensor/array_spec.h"

namespace waggle {
namespace {

constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxResourceName = 256;
constexpr uint64_t kMaxMemory = uint64_t{1} << 60;

// An experiment's id names tables and folders too.
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
  switch (kind) {
    case WorkerKind::kActor:
      return v1::WORKER_KIND_ACTOR;
    case WorkerKind::kLearner:
      return v1::WORKER_KIND_LEARNER;
    case WorkerKind::kReplayServer:
      return v1::WORKER_KIND_REPLAY_SERVER;
    case WorkerKind::kEvaluator:
      return v1::WORKER_KIND_EVALUATOR;
    case WorkerKind::kGradient:
      return v1::WORKER_KIND_GRADIENT;
  }
  return v1::WORKER_KIND_UNSPECIFIED;
}

absl::StatusOr<WorkerKind> FromProto(v1::WorkerKind proto) {
  switch (proto) {
    case v1::WORKER_KIND_ACTOR:
      return WorkerKind::kActor;
    case v1::WORKER_KIND_LEARNER:
      return WorkerKind::kLearner;
    case v1::WORKER_KIND_REPLAY_SERVER:
      return WorkerKind::kReplayServer;
    case v1::WORKER_KIND_EVALUATOR:
      return WorkerKind::kEvaluator;
    case v1::WORKER_KIND_GRADIENT:
      return WorkerKind::kGradient;
    default:
      return absl::InvalidArgumentError(absl::StrCat(static_cast<int>(proto), " is not a kind of worker"));
  }
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
        absl::StrCat("an order's index: ", proto.index(), " is not in 0 to ", kMaxPoolIndex));
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

absl::StatusOr<WorkerResources> FromProto(const v1::Resources& proto) {
  WAGGLE_RETURN_IF_ERROR(CheckNames("devices", proto.devices()));
  WAGGLE_RETURN_IF_ERROR(CheckNames("environments", proto.environments()));
  if (proto.memory_bytes() > kMaxMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory_bytes: ", proto.memory_bytes(), "; wanted at most ", kMaxMemory));
  }
  WorkerResources resources;
  resources.cores = proto.cores();
  resources.memory_bytes = static_cast<int64_t>(proto.memory_bytes());
  resources.devices.assign(proto.devices().begin(), proto.devices().end());
  resources.environments.assign(proto.environments().begin(), proto.environments().end());
  return resources;
}

}  // namespace waggle
