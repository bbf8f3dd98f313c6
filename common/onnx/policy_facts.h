#pragma once

#include <cstdint>

#include "common/config/experiment/experiment_plan.h"
#include "common/onnx/policy_source.h"
#include "onnx/onnx.pb.h"

namespace waggle {

// The version of the facts in an exported file.
inline constexpr int kPolicyFormat = 1;

// Adds facts about a policy to its file: metadata whose keys begin with "waggle.", as docs/export.md lists them.
void AddPolicyFacts(const PolicySource& source, const ExperimentPlan& plan, int64_t state_size,
                    onnx::ModelProto* model);

}  // namespace waggle
