#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// The element types of arrays, on the wire and in memory. The numbers are those of waggle.v1.DataType and never change.
enum class DType : uint8_t {
  kBool = 1,  // One byte, 0 or 1.
  kUint8 = 2,
  kInt8 = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kFloat16 = 7,   // IEEE 754 binary16.
  kBfloat16 = 8,  // The upper half of a binary32.
  kFloat32 = 9,
  kFloat64 = 10,
};

// "float32" and so on; "unknown" for a number that is not a DType.
absl::string_view DTypeName(DType dtype);
absl::StatusOr<DType> ParseDType(absl::string_view name);

// True if `number` is a DType: check every number that comes from outside.
bool IsDType(int number);

// Bytes an element.
size_t DTypeSize(DType dtype);

bool IsFloatingPoint(DType dtype);

// The index of the first NaN or infinity among `count` elements at `data` (any alignment), or -1. Always -1 for types
// that cannot hold one.
int64_t FindNonFinite(DType dtype, const void* data, int64_t count);

template <class T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kUint8;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kFloat64;
}

}  // namespace waggle
