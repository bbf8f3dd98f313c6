#include "actor/environments/rpc/tensor_elements.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/base/tensor/elements.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Pair {
  DType dtype;
  dm::DataType type;
};

// Element types of arrays, and the protocol's types that hold all of their values.
constexpr Pair kLossless[] = {
    {DType::kBool, dm::BOOL},     {DType::kUint8, dm::UINT8},    {DType::kInt8, dm::INT8},
    {DType::kInt16, dm::INT32},   {DType::kInt32, dm::INT32},    {DType::kInt64, dm::INT64},
    {DType::kFloat32, dm::FLOAT}, {DType::kFloat32, dm::DOUBLE}, {DType::kFloat64, dm::DOUBLE},
    {DType::kUint8, dm::UINT32},  {DType::kUint8, dm::UINT64},   {DType::kInt32, dm::INT64},
};

std::vector<char> RandomArray(DType dtype, int64_t elements, Rng* rng) {
  std::vector<char> bytes(static_cast<size_t>(elements) * DTypeSize(dtype));
  for (int64_t i = 0; i < elements; ++i) {
    char* const at = bytes.data() + static_cast<size_t>(i) * DTypeSize(dtype);
    if (IsFloatingPoint(dtype)) {
      StoreElement(dtype, rng->Uniform(-1e6, 1e6), at);
      continue;
    }
    const uint64_t bits = dtype == DType::kBool ? rng->Next() % 2 : rng->Next();
    std::memcpy(at, &bits, DTypeSize(dtype));
  }
  return bytes;
}

TEST_CASE("Arrays of every element type come back unchanged", "[unit]") {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    const Pair pair = kLossless[rng.Next() % std::size(kLossless)];
    std::vector<int64_t> shape(rng.Next() % 4);
    int64_t elements = 1;
    for (int64_t& dimension : shape) {
      dimension = static_cast<int64_t>(1 + rng.Next() % 5);
      elements *= dimension;
    }
    const std::vector<char> array = RandomArray(pair.dtype, elements, &rng);
    dm::Tensor tensor;
    InitTensor(pair.type, shape, &tensor);
    WriteElements(pair.dtype, array.data(), pair.type, 0, elements, {}, &tensor);
    dm::Tensor received;
    REQUIRE(received.ParseFromString(tensor.SerializeAsString()));
    CHECK(static_cast<int64_t>(tensor.ByteSizeLong()) <= MaxWireBytes(pair.type, elements));
    REQUIRE_OK(CheckTensor(received, pair.type, shape));
    std::vector<char> back(array.size());
    REQUIRE_OK(ReadElements(received, 0, elements, pair.dtype, {}, back.data()));
    CHECK(back == array);
    // Any part of the elements.
    const auto first = static_cast<int64_t>(rng.Next() % static_cast<uint64_t>(elements));
    REQUIRE_OK(ReadElements(received, first, 1, pair.dtype, {}, back.data()));
    CHECK(ElementText(pair.dtype, back.data(), 0) == ElementText(pair.dtype, array.data(), first));
  }
}

TEST_CASE("Choices are counted from the server's first number", "[unit]") {
  const std::vector<int64_t> choices = {0, 2, 1};
  const std::vector<int64_t> starts = {-1, 5, 100};
  dm::Tensor tensor;
  InitTensor(dm::INT8, std::vector<int64_t>{3}, &tensor);
  WriteElements(DType::kInt64, choices.data(), dm::INT8, 0, 3, starts, &tensor);
  CHECK(tensor.int8s().array() == std::string("\xff\x07\x65"));
  std::vector<int64_t> back(3);
  REQUIRE_OK(ReadElements(tensor, 0, 3, DType::kInt64, starts, back.data()));
  CHECK(back == choices);
}

TEST_CASE("A part of a tensor is written to its own elements", "[unit]") {
  dm::Tensor tensor;
  InitTensor(dm::FLOAT, std::vector<int64_t>{2, 2}, &tensor);
  const std::vector<float> values = {3, 4};
  WriteElements(DType::kFloat32, values.data(), dm::FLOAT, 2, 2, {}, &tensor);
  CHECK(std::vector<float>(tensor.floats().array().begin(), tensor.floats().array().end()) ==
        std::vector<float>{0, 0, 3, 4});
}

dm::Tensor Floats(const std::vector<float>& values, const std::vector<int32_t>& shape) {
  dm::Tensor tensor;
  *tensor.mutable_floats()->mutable_array() = {values.begin(), values.end()};
  *tensor.mutable_shape() = {shape.begin(), shape.end()};
  return tensor;
}

TEST_CASE("A single element is broadcast, and one dimension may be deduced", "[unit]") {
  const std::vector<int64_t> shape = {2, 3};
  for (const dm::Tensor& right : {Floats({1, 2, 3, 4, 5, 6}, {2, 3}), Floats({1, 2, 3, 4, 5, 6}, {-1, 3}),
                                  Floats({1, 2, 3, 4, 5, 6}, {2, -7}), Floats({9}, {2, 3})}) {
    CHECK(CheckTensor(right, dm::FLOAT, shape) == absl::OkStatus());
  }
  for (const dm::Tensor& wrong :
       {Floats({1, 2, 3, 4, 5, 6}, {-1, -1}), Floats({1, 2, 3, 4, 5, 6}, {3, 2}), Floats({1, 2, 3, 4, 5, 6}, {6}),
        Floats({1, 2, 3, 4, 5}, {2, 3}), Floats({1, 2, 3, 4, 5}, {-1, 3}), Floats({9}, {}), Floats({9}, {-1, 3}),
        Floats({}, {2, 3}), Floats({9}, {2, 3, 1}), Floats({9}, {2147483647, 2147483647}), Floats({9}, {0, 3})}) {
    CHECK_FALSE(CheckTensor(wrong, dm::FLOAT, shape).ok());
  }
  CHECK_FALSE(CheckTensor(Floats({9}, {2, 3}), dm::DOUBLE, shape).ok());
  CHECK_FALSE(CheckTensor(dm::Tensor(), dm::FLOAT, {}).ok());
  std::vector<float> all(6);
  REQUIRE_OK(ReadElements(Floats({9}, {2, 3}), 0, 6, DType::kFloat32, {}, all.data()));
  CHECK(all == std::vector<float>(6, 9));
}

TEST_CASE("An integer that an array cannot hold is refused", "[unit]") {
  dm::Tensor tensor;
  tensor.mutable_uint64s()->add_array(std::numeric_limits<uint64_t>::max());
  int64_t wide = 0;
  CHECK_FALSE(ReadElements(tensor, 0, 1, DType::kInt64, {}, &wide).ok());
  tensor.mutable_int32s()->add_array(70'000);
  int16_t narrow = 0;
  CHECK_FALSE(ReadElements(tensor, 0, 1, DType::kInt16, {}, &narrow).ok());
  tensor.mutable_int64s()->add_array(std::numeric_limits<int64_t>::min());
  REQUIRE_OK(ReadElements(tensor, 0, 1, DType::kInt64, std::vector<int64_t>{5}, &wide));
}

TEST_CASE("Bounds are one for all elements or one for each, and fit their type", "[unit]") {
  dm::TensorSpec::Value value;
  WriteBounds(dm::INT8, std::vector<double>{-1000, 5, std::numeric_limits<double>::infinity()}, &value);
  std::vector<double> bounds;
  REQUIRE_OK(ReadBounds(value, 3, &bounds));
  CHECK(bounds == std::vector<double>{-128, 5, 127});
  CHECK_FALSE(ReadBounds(value, 4, &bounds).ok());
  WriteBounds(dm::UINT64, std::vector<double>{1e30}, &value);
  REQUIRE_OK(ReadBounds(value, 4, &bounds));
  CHECK(bounds == std::vector<double>{18446744073709551615.0});
  REQUIRE_OK(ReadBounds(dm::TensorSpec::Value(), 4, &bounds));
  CHECK(bounds.empty());
}

}  // namespace
}  // namespace waggle
