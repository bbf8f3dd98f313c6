#include "common/base/tensor/elements.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

template <class T>
std::string Text(DType dtype, T value) {
  char bytes[1 + 2 * sizeof(T)];  // Not aligned, and not the first one.
  std::memcpy(bytes + 1 + sizeof(T), &value, sizeof(T));
  return ElementText(dtype, bytes + 1, 1);
}

TEST_CASE("Elements of every type have exact texts", "[unit]") {
  CHECK(Text<uint8_t>(DType::kBool, 1) == "true");
  CHECK(Text<uint8_t>(DType::kBool, 0) == "false");
  CHECK(Text<uint8_t>(DType::kUint8, 255) == "255");
  CHECK(Text<int8_t>(DType::kInt8, -128) == "-128");
  CHECK(Text<int16_t>(DType::kInt16, -30'000) == "-30000");
  CHECK(Text<int32_t>(DType::kInt32, -2'000'000'000) == "-2000000000");
  CHECK(Text<int64_t>(DType::kInt64, 9'007'199'254'740'993) == "9007199254740993");
  CHECK(Text<float>(DType::kFloat32, 0.1F) == "0.1");
  CHECK(Text<float>(DType::kFloat32, 16'777'217.0F) == "16777216");
  CHECK(Text<double>(DType::kFloat64, 0.1) == "0.1");
  CHECK(Text<double>(DType::kFloat64, 1.0 / 3) == "0.3333333333333333");
  CHECK(Text<uint16_t>(DType::kFloat16, 0x3C00) == "1");
  CHECK(Text<uint16_t>(DType::kFloat16, 0xC248) == "-3.140625");
  CHECK(Text<uint16_t>(DType::kFloat16, 0x0001) == "5.9604645e-08");
  CHECK(Text<uint16_t>(DType::kFloat16, 0x7BFF) == "65504");
  CHECK(Text<uint16_t>(DType::kBfloat16, 0x4049) == "3.140625");
}

TEST_CASE("Elements are numbers too", "[unit]") {
  const std::vector<float> values = {-1.5F, 2.25F};
  CHECK(ElementAsDouble(DType::kFloat32, values.data(), 1) == 2.25);
  const std::vector<int64_t> integers = {7, -9};
  CHECK(ElementAsDouble(DType::kInt64, integers.data(), 1) == -9);
  const uint16_t infinite = 0xFC00;
  CHECK(ElementAsDouble(DType::kFloat16, &infinite, 0) < -1e300);
}

}  // namespace
}  // namespace waggle
