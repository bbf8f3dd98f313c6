#pragma once

#include "absl/status/statusor.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/onnx/policy_form.h"
#include "common/onnx/policy_source.h"
#include "onnx/onnx.pb.h"

namespace waggle {

// The greedy policy of saved weights as an ONNX model: docs/export.md. FAILED_PRECONDITION if the weights are another
// network's; INVALID_ARGUMENT if they are not finite, or the policy cannot be exported: the message says why.
absl::StatusOr<onnx::ModelProto> PolicyModel(const PolicySource& source, const AlgorithmDefinitions& algorithms,
                                             const PolicyForms& forms);

}  // namespace waggle
