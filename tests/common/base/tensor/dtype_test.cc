#include "common/base/tensor/dtype.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

TEST_CASE("every element type has a number, a name and a size", "[unit]") {
  struct Case {
    DType dtype;
    int number;
    absl::string_view name;
    size_t size;
    bool floating_point;
  };
  // The numbers are on the wire and in files: they never change.
  const Case cases[] = {
      {DType::kBool, 1, "bool", 1, false},      {DType::kUint8, 2, "uint8", 1, false},
      {DType::kInt8, 3, "int8", 1, false},      {DType::kInt16, 4, "int16", 2, false},
      {DType::kInt32, 5, "int32", 4, false},    {DType::kInt64, 6, "int64", 8, false},
      {DType::kFloat16, 7, "float16", 2, true}, {DType::kBfloat16, 8, "bfloat16", 2, true},
      {DType::kFloat32, 9, "float32", 4, true}, {DType::kFloat64, 10, "float64", 8, true},
  };
  for (const Case& example : cases) {
    CAPTURE(example.name);
    CHECK(static_cast<int>(example.dtype) == example.number);
    CHECK(DTypeName(example.dtype) == example.name);
    CHECK(ValueOf(ParseDType(example.name)) == example.dtype);
    CHECK(DTypeSize(example.dtype) == example.size);
    CHECK(IsFloatingPoint(example.dtype) == example.floating_point);
    CHECK(IsDType(example.number));
  }
}

TEST_CASE("other numbers and names are not element types", "[unit]") {
  for (const int number : {0, 11, -1, 255, 256 + 9, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    CHECK_FALSE(IsDType(number));
  }
  const auto unknown = static_cast<DType>(11);
  CHECK(DTypeName(unknown) == "unknown");
  CHECK(DTypeSize(unknown) == 0);
  CHECK_FALSE(IsFloatingPoint(unknown));
  CHECK(FindNonFinite(unknown, "", 1) == -1);
  for (const char* name : {"", "float", "Float32", "float32 ", "unknown"}) {
    REQUIRE_CODE(ParseDType(name), absl::StatusCode::kInvalidArgument);
  }
}

// A run of `count` elements of `size` bytes that starts `shift` bytes past an aligned address.
struct Elements {
  Elements(size_t element_size, int64_t element_count, size_t start)
      : size(element_size), shift(start), bytes(start + element_size * static_cast<size_t>(element_count)) {}

  const char* data() const { return bytes.data() + shift; }
  void Set(int64_t index, uint64_t bits) {
    std::memcpy(bytes.data() + shift + size * static_cast<size_t>(index), &bits, size);
  }

  size_t size;
  size_t shift;
  std::vector<char> bytes;
};

struct FloatFormat {
  DType dtype;
  uint64_t infinity;
  uint64_t sign;
};

const FloatFormat kFormats[] = {
    {DType::kFloat16, 0x7C00, 0x8000},
    {DType::kBfloat16, 0x7F80, 0x8000},
    {DType::kFloat32, 0x7F800000, 0x80000000},
    {DType::kFloat64, 0x7FF0000000000000, 0x8000000000000000},
};

TEST_CASE("a number that is not finite is found at any position and alignment", "[unit]") {
  for (const FloatFormat& format : kFormats) {
    const size_t size = DTypeSize(format.dtype);
    CAPTURE(DTypeName(format.dtype));
    for (const int64_t count : {1, 2, 255, 256, 257, 600}) {
      for (const int64_t index : {int64_t{0}, count / 2, count - 1}) {
        for (size_t shift = 0; shift < size; ++shift) {
          // Infinity, minus infinity, the smallest and the largest NaN.
          for (const uint64_t bits :
               {format.infinity, format.infinity | format.sign, format.infinity + 1, format.sign | (format.sign - 1)}) {
            Elements elements(size, count, shift);
            REQUIRE(FindNonFinite(format.dtype, elements.data(), count) == -1);
            elements.Set(index, bits);
            REQUIRE(FindNonFinite(format.dtype, elements.data(), count) == index);
            elements.Set(count - 1, bits);
            REQUIRE(FindNonFinite(format.dtype, elements.data(), count) == index);
          }
        }
      }
    }
  }
}

TEST_CASE("the largest and smallest finite numbers are finite", "[unit]") {
  for (const FloatFormat& format : kFormats) {
    CAPTURE(DTypeName(format.dtype));
    Elements elements(DTypeSize(format.dtype), 5, 1);
    elements.Set(0, format.infinity - 1);
    elements.Set(1, (format.infinity - 1) | format.sign);
    elements.Set(2, 1);
    elements.Set(3, 1 | format.sign);
    elements.Set(4, format.sign);
    CHECK(FindNonFinite(format.dtype, elements.data(), 5) == -1);
  }
}

TEST_CASE("integers and empty arrays are always finite", "[unit]") {
  const std::string ones(64, '\xff');
  for (const DType dtype : {DType::kBool, DType::kUint8, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    CHECK(FindNonFinite(dtype, ones.data(), 8) == -1);
  }
  CHECK(FindNonFinite(DType::kFloat32, nullptr, 0) == -1);
}

}  // namespace
}  // namespace waggle
