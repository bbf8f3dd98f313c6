#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/plan/algorithm_plan.h"
#include "common/plan/network_spec.h"
#include "common/spec/environment_spec.h"
#include "common/spec/joint_action.h"

namespace waggle {

// "q", "value", "categorical", "normal", "tanh_normal", "deterministic" or "mixed".
std::string Name(HeadKind kind);

// The head's type: what the configuration says, or the kind's first.
std::string TypeOf(HeadKind kind, const HeadSpec& head);

// INVALID_ARGUMENT, one problem a line, each behind its key ("type: …"): a type that the kind does not have, with the
// nearest that it has, and what a head of the kind would pass over in silence.
absl::Status CheckHead(HeadKind kind, const HeadSpec& head);

// What a random policy has for the environment's actions: normal distributions of real elements, categorical ones of
// choices, and where there are both a mixture of them.
HeadKind PolicyHead(const EnvironmentSpec& environment);

// Whether a head of this kind says something about such an action.
bool Suits(HeadKind kind, const JointAction& action);

// Of a row; the action suits the kind.
int64_t NumOutputs(HeadKind kind, const HeadSpec& head, const JointAction& action);

}  // namespace waggle
