#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <vector>

#include "absl/status/statusor.h"
#include "common/base/tensor/array_spec.h"
#include "waggle/v1/tensor.pb.h"

namespace waggle {

v1::ArraySpec ToProto(const ArraySpec& spec);

// INVALID_ARGUMENT if the result is not valid (ArraySpec::Validate).
absl::StatusOr<ArraySpec> FromProto(const v1::ArraySpec& proto);

// A list of specs. INVALID_ARGUMENT for more than kMaxColumns and for the first spec that is not valid.
absl::StatusOr<std::vector<ArraySpec>> FromProto(const google::protobuf::RepeatedPtrField<v1::ArraySpec>& protos);

}  // namespace waggle
