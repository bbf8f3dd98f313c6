#include "common/base/tensor/elements.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace waggle {
namespace {

template <class T>
T Load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void Store(double value, void* to) {
  const T element = static_cast<T>(value);
  std::memcpy(to, &element, sizeof(element));
}

double FromFloat16(uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  if (exponent == 0x1F) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 0x400, exponent - 25));
}

double FromBfloat16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return static_cast<double>(value);
}

// With no more digits than tell it from its neighbours.
template <class T>
std::string Shortest(T value, int least, int most) {
  std::string text;
  for (int digits = least; digits <= most; ++digits) {
    text = absl::StrFormat("%.*g", digits, value);
    if (static_cast<T>(std::strtod(text.c_str(), nullptr)) == value) {
      break;
    }
  }
  return text;
}

}  // namespace

double ElementAsDouble(DType dtype, const void* data, int64_t index) {
  switch (dtype) {
    case DType::kBool:
      return Load<uint8_t>(data, index) != 0 ? 1 : 0;
    case DType::kUint8:
      return Load<uint8_t>(data, index);
    case DType::kInt8:
      return Load<int8_t>(data, index);
    case DType::kInt16:
      return Load<int16_t>(data, index);
    case DType::kInt32:
      return Load<int32_t>(data, index);
    case DType::kInt64:
      return static_cast<double>(Load<int64_t>(data, index));
    case DType::kFloat16:
      return FromFloat16(Load<uint16_t>(data, index));
    case DType::kBfloat16:
      return FromBfloat16(Load<uint16_t>(data, index));
    case DType::kFloat32:
      return static_cast<double>(Load<float>(data, index));
    case DType::kFloat64:
      return Load<double>(data, index);
  }
  return 0;
}

std::string ElementText(DType dtype, const void* data, int64_t index) {
  switch (dtype) {
    case DType::kBool:
      return Load<uint8_t>(data, index) != 0 ? "true" : "false";
    case DType::kInt64:
      return absl::StrCat(Load<int64_t>(data, index));
    case DType::kFloat64:
      return Shortest(Load<double>(data, index), 6, 17);
    case DType::kFloat32:
    case DType::kBfloat16:
    case DType::kFloat16:
      return Shortest(static_cast<float>(ElementAsDouble(dtype, data, index)), 4, 9);
    default:
      return absl::StrFormat("%.0f", ElementAsDouble(dtype, data, index));
  }
}

void StoreElement(DType dtype, double value, void* to) {
  switch (dtype) {
    case DType::kBool:
      return Store<bool>(value, to);
    case DType::kUint8:
      return Store<uint8_t>(value, to);
    case DType::kInt8:
      return Store<int8_t>(value, to);
    case DType::kInt16:
      return Store<int16_t>(value, to);
    case DType::kInt32:
      return Store<int32_t>(value, to);
    case DType::kInt64:
      return Store<int64_t>(value, to);
    case DType::kFloat16:
    case DType::kBfloat16:
      return Store<uint16_t>(0, to);
    case DType::kFloat32:
      return Store<float>(value, to);
    case DType::kFloat64:
      return Store<double>(value, to);
  }
}

}  // namespace waggle
