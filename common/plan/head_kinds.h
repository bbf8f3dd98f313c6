#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/plan/algorithm_plan.h"
#include "common/plan/network_spec.h"
#include "common/spec/space_leaf.h"

namespace waggle {

// "q", "value", "categorical", "normal", "tanh_normal" or "deterministic".
std::string Name(HeadKind kind);

// The head's type: what the configuration says, or the kind's first.
std::string TypeOf(HeadKind kind, const HeadSpec& head);

// INVALID_ARGUMENT, one problem a line, each behind its key ("type: …"): a type that the kind does not have, with the
// nearest that it has, and what a head of the kind would pass over in silence.
absl::Status CheckHead(HeadKind kind, const HeadSpec& head);

// What a random policy has for such an action: a normal distribution of real ones, categorical ones of choices.
HeadKind PolicyHead(SpaceKind action);

// Whether a head of this kind says something about an action of that.
bool Suits(HeadKind kind, SpaceKind action);

// Of a row; the action suits the kind.
int64_t NumOutputs(HeadKind kind, const HeadSpec& head, const SpaceLeaf& action);

}  // namespace waggle
