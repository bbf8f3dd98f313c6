#include "common/net/security/method_access.h"

namespace waggle {
namespace {

constexpr AccessRoles kRead = AccessRole::kReader | AccessRole::kSubmitter | AccessRole::kWorker;
constexpr AccessRoles kSubmit = AccessRole::kSubmitter;
constexpr AccessRoles kWork = AccessRole::kWorker;
constexpr AccessRoles kAdminister = AccessRole::kAdmin;

constexpr MethodAccess kMethods[] = {
    {"/waggle.v1.ExperimentService/Submit", kSubmit},
    {"/waggle.v1.ExperimentService/List", kRead},
    {"/waggle.v1.ExperimentService/Resolve", kRead},
    {"/waggle.v1.ExperimentService/Get", kRead},
    {"/waggle.v1.ExperimentService/Stop", kSubmit},
    {"/waggle.v1.ExperimentService/Resume", kSubmit},
    {"/waggle.v1.ExperimentService/Checkpoint", kSubmit},
    {"/waggle.v1.ExperimentService/Cuts", kRead},
    {"/waggle.v1.ExperimentService/Set", kSubmit},
    {"/waggle.v1.ExperimentService/SetPriority", kSubmit},
    {"/waggle.v1.ExperimentService/Delete", kSubmit},
    {"/waggle.v1.ExperimentService/Watch", kRead},
    {"/waggle.v1.ExperimentService/Events", kRead},
    {"/waggle.v1.ExperimentService/Pool", kRead},
    {"/waggle.v1.GradientService/Push", kWork},
    {"/waggle.v1.GradientService/Describe", kRead},
    {"/waggle.v1.InferenceService/Act", kWork},
    {"/waggle.v1.ModelService/Push", kWork},
    {"/waggle.v1.ModelService/Pull", kWork},
    {"/waggle.v1.ModelService/Watch", kWork},
    {"/waggle.v1.PoolService/Attend", kWork},
    {"/waggle.v1.ReplayService/CreateTable", kWork},
    {"/waggle.v1.ReplayService/Reconfigure", kAdminister},
    {"/waggle.v1.ReplayService/Insert", kWork},
    {"/waggle.v1.ReplayService/Sample", kWork},
    {"/waggle.v1.ReplayService/UpdatePriorities", kWork},
    {"/waggle.v1.ReplayService/Delete", kWork},
    {"/waggle.v1.ReplayService/Clear", kWork},
    {"/waggle.v1.ReplayService/Export", kRead},
    {"/waggle.v1.ReplayService/Describe", kRead},
    {"/waggle.v1.ReplayService/Explain", kRead},
    {"/waggle.v1.ReplayService/Inspect", kRead},
    {"/waggle.v1.ReplayService/Checkpoint", kWork},
    {"/waggle.v1.ResultService/List", kRead},
    {"/waggle.v1.ResultService/Fetch", kRead},
    {"/waggle.v1.StoreService/Set", kWork},
    {"/waggle.v1.StoreService/Get", kWork},
    {"/waggle.v1.StoreService/Add", kWork},
    {"/waggle.v1.StoreService/Delete", kWork},
    {"/waggle.v1.WorkerService/Join", kWork},
    {"/waggle.v1.WorkerService/Heartbeat", kWork},
    {"/waggle.v1.WorkerService/Watch", kWork},
    {"/waggle.v1.WorkerService/TakeSteps", kWork},
    {"/waggle.v1.WorkerService/Leave", kWork},
    {"/waggle.v1.WorkerService/Overview", kRead},
    {"/dm_env_rpc.v1.Environment/Process", kWork},
    // The library's own services.
    {"/grpc.health.v1.Health/Check", {}, /*anyone=*/true},
    {"/grpc.health.v1.Health/Watch", {}, /*anyone=*/true},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", kRead},
};

}  // namespace

absl::Span<const MethodAccess> MethodTable() {
  return kMethods;
}

const MethodAccess* FindMethod(absl::string_view path) {
  for (const MethodAccess& method : kMethods) {
    if (method.path == path) {
      return &method;
    }
  }
  return nullptr;
}

}  // namespace waggle
