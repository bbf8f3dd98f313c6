#include "common/nn/torch_compat.h"

#include <stdexcept>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an exception of LibTorch becomes a status that names the operation", "[unit]") {
  const absl::StatusOr<torch::Tensor> product = CatchTorch("multiplying", [] {
    return torch::zeros({2, 3}).mm(torch::zeros({2, 3}));
  });
  CHECK(product.status().code() == absl::StatusCode::kInternal);
  CHECK(product.status().message().find("multiplying: LibTorch says: ") == 0);
  CHECK(CatchTorch("thinking", []() -> absl::Status { throw std::runtime_error("no"); }).message() == "thinking: no");
}

TEST_CASE("every element type has its counterpart", "[unit]") {
  for (int number = 1; IsDType(number); ++number) {
    const DType dtype = static_cast<DType>(number);
    CHECK(testing::ValueOf(FromScalarType(ToScalarType(dtype))) == dtype);
    CHECK(torch::elementSize(ToScalarType(dtype)) == DTypeSize(dtype));
  }
  REQUIRE_CODE(FromScalarType(torch::kComplexFloat), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
