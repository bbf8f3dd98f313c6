#include "common/replay/ports/sampler_options.h"

#include <functional>

#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

TEST_CASE("a sampler's options that can never work are refused, others are not", "[unit]") {
  const auto checked = [](const std::function<void(ReplaySamplerOptions*)>& set) {
    ReplaySamplerOptions options = testing::SimpleSampler(testing::SimpleTable("table"), 4);
    set(&options);
    return ValidateSamplerOptions(options);
  };
  REQUIRE_OK(checked([](ReplaySamplerOptions* options) { options->prefetch = kMaxOutstandingDraws; }));
  REQUIRE_OK(checked([](ReplaySamplerOptions* options) { options->sampler_id = "learner"; }));
  const auto refused = [&](const std::function<void(ReplaySamplerOptions*)>& set) {
    return checked(set).code() == absl::StatusCode::kInvalidArgument;
  };
  CHECK(refused([](ReplaySamplerOptions* options) { options->table.max_items = 0; }));
  CHECK(refused([](ReplaySamplerOptions* options) { options->batch_size = 0; }));
  CHECK(refused([](ReplaySamplerOptions* options) { options->batch_size = (int64_t{1} << 31) + 1; }));
  CHECK(refused([](ReplaySamplerOptions* options) { options->prefetch = -1; }));
  CHECK(refused([](ReplaySamplerOptions* options) { options->prefetch = kMaxOutstandingDraws + 1; }));
  CHECK(refused([](ReplaySamplerOptions* options) { options->sampler_id = "no name"; }));
  CHECK(refused([](ReplaySamplerOptions* options) { options->max_batch_bytes = 0; }));
}

}  // namespace
}  // namespace waggle
