#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/config/spec/environment_spec.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "waggle/v1/model.pb.h"
#include "waggle/v1/worker.pb.h"

// The hub's and the models' messages to and from the types of the ports. FromProto checks all that it returns;
// INVALID_ARGUMENT names the mistake.

namespace waggle {

// A value of an enum that is numbered as a message's enum, which has a name for `number` if `named`.
template <class Enum>
absl::StatusOr<Enum> FromNumber(int number, bool named, const char* what) {
  return named && number != 0 ? absl::StatusOr<Enum>(static_cast<Enum>(number))
                              : absl::InvalidArgumentError(absl::StrCat(number, " is not a ", what));
}

v1::ModelVersion ToProto(const ModelVersion& version);
ModelVersion FromProto(const v1::ModelVersion& proto);

v1::EnvironmentSpec ToProto(const EnvironmentSpec& environment);
absl::StatusOr<EnvironmentSpec> FromProto(const v1::EnvironmentSpec& proto);

v1::Role ToProto(Role role);
absl::StatusOr<Role> FromProto(v1::Role proto);

v1::RunState ToProto(RunState state);
absl::StatusOr<RunState> FromProto(v1::RunState proto);

// Without the time at which it was finished.
v1::Evaluation ToProto(const Evaluation& evaluation);
Evaluation FromProto(const v1::Evaluation& proto);

v1::Result ToProto(const RunResult& result);
RunResult FromProto(const v1::Result& proto);

// Without the worker's id.
v1::TakeStepsRequest ToProto(const StepRequest& request);
StepRequest FromProto(const v1::TakeStepsRequest& proto);

v1::Turn ToProto(const Turn& turn);
absl::StatusOr<Turn> FromProto(const v1::Turn& proto);

// Without the worker's own fields, which it gets when it joins.
v1::Assignment ToProto(const Assignment& assignment);
absl::StatusOr<Assignment> FromProto(const v1::Assignment& proto);

// A version without its data; `total_bytes` and `checksum` are left to the caller.
v1::ModelHeader ToProto(const ModelSnapshot& snapshot);
absl::StatusOr<ModelSnapshot> FromProto(const v1::ModelHeader& proto);

}  // namespace waggle
