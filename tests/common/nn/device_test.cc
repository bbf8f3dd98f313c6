#include "common/nn/device.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("device names are PyTorch's", "[unit]") {
  CHECK(testing::ValueOf(ParseDevice("cpu")).is_cpu());
  for (const char* name : {"gpu", "cuda:", "cuda:-1", "cuda:x", "CPU", "", "cuda0"}) {
    INFO(name);
    REQUIRE_CODE(ParseDevice(name), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("a missing device is refused with the present ones", "[unit]") {
  const absl::Status status = ParseDevice("cuda:99").status();
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(status.message().find("cuda:99") != std::string::npos);
  if (!torch::cuda::is_available()) {
    CHECK(status.message().find("no CUDA device") != std::string::npos);
  }
}

}  // namespace
}  // namespace waggle
