#include "common/base/tensor/dtype.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

struct DTypeInfo {
  DType dtype;
  absl::string_view name;
  size_t size;
  bool floating_point;
};

constexpr DTypeInfo kInfos[] = {
    {DType::kBool, "bool", 1, false},      {DType::kUint8, "uint8", 1, false},
    {DType::kInt8, "int8", 1, false},      {DType::kInt16, "int16", 2, false},
    {DType::kInt32, "int32", 4, false},    {DType::kInt64, "int64", 8, false},
    {DType::kFloat16, "float16", 2, true}, {DType::kBfloat16, "bfloat16", 2, true},
    {DType::kFloat32, "float32", 4, true}, {DType::kFloat64, "float64", 8, true},
};

const DTypeInfo* Find(DType dtype) {
  for (const DTypeInfo& info : kInfos) {
    if (info.dtype == dtype) {
      return &info;
    }
  }
  return nullptr;
}

// An IEEE 754 number is not finite exactly when all bits of its exponent are set.
template <class Bits>
int64_t FindFullExponent(const void* data, int64_t count, Bits exponent_mask) {
  const char* bytes = static_cast<const char*>(data);
  constexpr int64_t kBlock = 256;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = begin + kBlock < count ? begin + kBlock : count;
    // A branch-free pass over a block lets the compiler use vector instructions; the exact index is looked for only in
    // a block that has one.
    unsigned found = 0;
    for (int64_t i = begin; i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes + static_cast<size_t>(i) * sizeof(Bits), sizeof(Bits));
      found |= static_cast<unsigned>((bits & exponent_mask) == exponent_mask);
    }
    for (int64_t i = begin; found != 0 && i < end; ++i) {
      Bits bits;
      std::memcpy(&bits, bytes + static_cast<size_t>(i) * sizeof(Bits), sizeof(Bits));
      if ((bits & exponent_mask) == exponent_mask) {
        return i;
      }
    }
  }
  return -1;
}

}  // namespace

absl::string_view DTypeName(DType dtype) {
  const DTypeInfo* info = Find(dtype);
  return info == nullptr ? "unknown" : info->name;
}

absl::StatusOr<DType> ParseDType(absl::string_view name) {
  for (const DTypeInfo& info : kInfos) {
    if (info.name == name) {
      return info.dtype;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not an element type"));
}

bool IsDType(int number) {
  return number >= 1 && number <= 10;
}

size_t DTypeSize(DType dtype) {
  const DTypeInfo* info = Find(dtype);
  return info == nullptr ? 0 : info->size;
}

bool IsFloatingPoint(DType dtype) {
  const DTypeInfo* info = Find(dtype);
  return info != nullptr && info->floating_point;
}

int64_t FindNonFinite(DType dtype, const void* data, int64_t count) {
  switch (dtype) {
    case DType::kFloat32:
      return FindFullExponent<uint32_t>(data, count, 0x7F800000U);
    case DType::kFloat64:
      return FindFullExponent<uint64_t>(data, count, 0x7FF0000000000000ULL);
    case DType::kFloat16:
      return FindFullExponent<uint16_t>(data, count, 0x7C00U);
    case DType::kBfloat16:
      return FindFullExponent<uint16_t>(data, count, 0x7F80U);
    default:
      return -1;
  }
}

}  // namespace waggle
