#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/plan/network_spec.h"
#include "common/config/spec/environment_spec.h"
#include "common/config/spec/joint_action.h"

namespace waggle {

// "q", "value", "categorical", "normal", "tanh_normal", "deterministic", "mixed", "categorical_q", "quantile_q",
// "quantiles" or "vector".
std::string Name(HeadKind kind);

// The head's type: the configuration's, or the kind's first.
std::string TypeOf(HeadKind kind, const HeadSpec& head);

// INVALID_ARGUMENT, one problem a line, each behind its key ("type: …"): a type that the kind does not have, with the
// nearest that it has, and keys that a head of the kind would ignore.
absl::Status CheckHead(HeadKind kind, const HeadSpec& head);

// A random policy's head for the environment's actions: normal for real elements, categorical for choices, and mixed if
// there are both.
HeadKind PolicyHead(const EnvironmentSpec& environment);

// True if a head of this kind can describe such an action, or the part of it that the kind is for.
bool Suits(HeadKind kind, const JointAction& action);

// True for kinds that give each choice of a discrete action a value: kQ, kCategoricalQ and kQuantileQ.
bool GivesChoicesValues(HeadKind kind);

// True for kinds that a policy can draw or take an action from.
bool GivesPolicy(HeadKind kind);

// The outputs for a row; the action suits the kind.
int64_t NumOutputs(const HeadNeed& need, const HeadSpec& head, const JointAction& action);

}  // namespace waggle
