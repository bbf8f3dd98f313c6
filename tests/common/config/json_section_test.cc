#include "common/config/json_section.h"

#include "tests/common/config/sample_options.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::TrainOptions;

TEST_CASE("A section that was kept as JSON is read like any other", "[unit]") {
  TrainOptions options;
  REQUIRE_OK(ReadJsonSection(R"({"batch_size": 7, "mode": "double", "layers": [{"units": [3]}]})",
                             "environment.options", [&options](ConfigVisitor& visitor) { options.Visit(visitor); }));
  CHECK(options.batch_size == 7);
  CHECK(options.layers[0].units == std::vector<int64_t>{3});
}

TEST_CASE("A mistake in a section that was kept as JSON is reported with its whole path", "[unit]") {
  TrainOptions options;
  const absl::Status read = ReadJsonSection(R"({"batch_size": 0, "mode": "double", "batch": 1})", "environment.options",
                                            [&options](ConfigVisitor& visitor) { options.Visit(visitor); });
  REQUIRE_CODE(read, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(read.message()), Catch::Contains("environment.options: batch_size"));
  CHECK_THAT(std::string(read.message()), Catch::Contains("batch:"));
}

}  // namespace
}  // namespace waggle
