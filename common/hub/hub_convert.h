#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/config/spec/environment_spec.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "waggle/v1/model.pb.h"
#include "waggle/v1/worker.pb.h"

// Converts messages of the hub and of models to and from the types of the ports. FromProto returns INVALID_ARGUMENT,
// naming the mistake, for a bad message.

namespace waggle {

// The enum's value for a message's `number`, if that is `named`.
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

// Without the time of its end.
v1::Evaluation ToProto(const Evaluation& evaluation);
Evaluation FromProto(const v1::Evaluation& proto);

v1::Result ToProto(const RunResult& result);
RunResult FromProto(const v1::Result& proto);

// Without the worker's id.
v1::TakeStepsRequest ToProto(const StepRequest& request);
StepRequest FromProto(const v1::TakeStepsRequest& proto);

v1::Turn ToProto(const Turn& turn);
absl::StatusOr<Turn> FromProto(const v1::Turn& proto);

// Without the worker's own fields, which Join's answer has.
v1::Assignment ToProto(const Assignment& assignment);
absl::StatusOr<Assignment> FromProto(const v1::Assignment& proto);

// Without the data. The caller sets `total_bytes` and `checksum`.
v1::ModelHeader ToProto(const ModelSnapshot& snapshot);
absl::StatusOr<ModelSnapshot> FromProto(const v1::ModelHeader& proto);

}  // namespace waggle
