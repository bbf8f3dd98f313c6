#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "actor/environments/rpc/protocol.h"
#include "common/base/tensor/dtype.h"

namespace waggle {

// Conversions between the protocol's tensors and arrays. A tensor's element types are those of dm::DataType, without
// STRING and PROTO.

// "FLOAT" and so on; the number itself if it is not a type.
std::string TypeName(dm::DataType type);
// The type of a tensor's elements; INVALID_DATA_TYPE for one without a payload.
dm::DataType TypeOf(const dm::Tensor& tensor);
bool IsNumeric(dm::DataType type);
bool IsInteger(dm::DataType type);  // False for BOOL.
// The elements in the payload, before a single one is broadcast.
int64_t PayloadSize(const dm::Tensor& tensor);
// The most bytes that a tensor of `elements` takes in a message, its shape and key included.
int64_t MaxWireBytes(dm::DataType type, int64_t elements);

// INVALID_ARGUMENT, "got X; wanted Y", unless the tensor has this type and, by the rules of the protocol, this shape.
absl::Status CheckTensor(const dm::Tensor& tensor, dm::DataType type, absl::Span<const int64_t> shape);

// Elements [first, first + count) of a tensor, as elements of `dtype`; a single one is broadcast. `starts` are
// subtracted: none, one for all, or one for each element. The tensor must have passed CheckTensor. INVALID_ARGUMENT if
// an int64 cannot hold an integer.
absl::Status ReadElements(const dm::Tensor& tensor, int64_t first, int64_t count, DType dtype,
                          absl::Span<const int64_t> starts, void* out);

// Fills a tensor of this type and shape with zeros.
void InitTensor(dm::DataType type, absl::Span<const int64_t> shape, dm::Tensor* tensor);
// Writes elements [first, first + count) of a tensor of this type. `starts` are added.
void WriteElements(DType dtype, const void* data, dm::DataType type, int64_t first, int64_t count,
                   absl::Span<const int64_t> starts, dm::Tensor* tensor);

// A spec's bounds; empty if it has none. INVALID_ARGUMENT unless there are none, one or `elements`.
absl::Status ReadBounds(const dm::TensorSpec::Value& value, int64_t elements, std::vector<double>* bounds);
// Writes `bounds` as values of this numeric type, which must hold all of them.
void WriteBounds(dm::DataType type, absl::Span<const double> bounds, dm::TensorSpec::Value* value);

}  // namespace waggle
