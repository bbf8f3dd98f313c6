#include "common/net/array_spec_convert.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

v1::ArraySpec ToProto(const ArraySpec& spec) {
  v1::ArraySpec proto;
  proto.set_name(spec.name);
  proto.set_dtype(static_cast<v1::DataType>(spec.dtype));
  for (const int64_t dimension : spec.shape) {
    proto.add_shape(dimension);
  }
  return proto;
}

absl::StatusOr<ArraySpec> FromProto(const v1::ArraySpec& proto) {
  // Checked before the cast, which would cut a large number to another DType.
  if (!IsDType(proto.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::CHexEscape(proto.name()), ": ", static_cast<int>(proto.dtype()), " is not an element type"));
  }
  ArraySpec spec;
  spec.name = proto.name();
  spec.dtype = static_cast<DType>(proto.dtype());
  spec.shape.assign(proto.shape().begin(), proto.shape().end());
  WAGGLE_RETURN_IF_ERROR(spec.Validate());
  return spec;
}

absl::StatusOr<std::vector<ArraySpec>> FromProto(const google::protobuf::RepeatedPtrField<v1::ArraySpec>& protos) {
  if (protos.size() > kMaxColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", protos.size(), " columns; at most ", kMaxColumns, " are allowed"));
  }
  std::vector<ArraySpec> specs;
  specs.reserve(protos.size());
  for (const v1::ArraySpec& proto : protos) {
    WAGGLE_ASSIGN_OR_RETURN(ArraySpec spec, FromProto(proto));
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace waggle
