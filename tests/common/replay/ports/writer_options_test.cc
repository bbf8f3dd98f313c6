#include "common/replay/ports/writer_options.h"

#include <functional>

#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

TEST_CASE("a writer's options that can never work are refused, others are not", "[unit]") {
  const auto checked = [](const std::function<void(ReplayWriterOptions*)>& set) {
    ReplayWriterOptions options = testing::SimpleWriter("writer", testing::SimpleTable("table"));
    set(&options);
    return ValidateWriterOptions(options);
  };
  REQUIRE_OK(checked([](ReplayWriterOptions* options) { options->max_unacknowledged_blocks = 1; }));
  const auto refused = [&](const std::function<void(ReplayWriterOptions*)>& set) {
    return checked(set).code() == absl::StatusCode::kInvalidArgument;
  };
  CHECK(refused([](ReplayWriterOptions* options) { options->writer_id = "no name"; }));
  CHECK(refused([](ReplayWriterOptions* options) { options->tables.clear(); }));
  CHECK(refused([](ReplayWriterOptions* options) { options->signature.clear(); }));
  CHECK(refused([](ReplayWriterOptions* options) { options->signature[0].name.clear(); }));
  CHECK(refused([](ReplayWriterOptions* options) { options->max_unacknowledged_blocks = 0; }));
  CHECK(refused([](ReplayWriterOptions* options) { options->max_unacknowledged_bytes = 0; }));
}

}  // namespace
}  // namespace waggle
