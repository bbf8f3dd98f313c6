#include "cli/table_changes.h"

#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleTable;
using testing::ValueOf;

TEST_CASE("What is named changes, and nothing else", "[unit]") {
  TableConfig config = SimpleTable("t");
  config.rate_limiter = {8, 10, 100};
  config.sampler.kind = SelectorKind::kPrioritized;
  const TableConfig changed = ValueOf(WithChanges(
      config, {{"rate_limiter.error_buffer", "200.5"}, {"max_items", "77"}, {"sampler.priority_exponent", "1"}}));
  CHECK(Differences(config, changed) == std::vector<std::string>{"sampler.priority_exponent: 0.6 and 1",
                                                                 "rate_limiter.error_buffer: 100 and 200.5",
                                                                 "max_items: 100000 and 77"});
}

TEST_CASE("Bounds of the limiter take the place of its error buffer, and go again", "[unit]") {
  TableConfig config = SimpleTable("t");
  config.rate_limiter = {8, 10, 100};
  const TableConfig bounded = ValueOf(WithChanges(config, {{"rate_limiter.error_buffer", "0"},
                                                           {"rate_limiter.min_difference", "-20"},
                                                           {"rate_limiter.max_difference", "90"}}));
  CHECK(bounded.rate_limiter.MinDifference() == -20);
  const TableConfig back = ValueOf(WithChanges(bounded, {{"rate_limiter.error_buffer", "100"},
                                                         {"rate_limiter.min_difference", "null"},
                                                         {"rate_limiter.max_difference", "null"}}));
  CHECK(Differences(back, config).empty());
}

TEST_CASE("All that is wrong with changes is told at once", "[unit]") {
  const absl::Status status =
      WithChanges(SimpleTable("t"), {{"rate_limiter.max_diference", "9"}, {"seed", "4"}, {"max_items", "many"}})
          .status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  CAPTURE(message);
  CHECK(absl::StrContains(message, "did you mean \"max_difference\"?"));
  CHECK(!absl::StrContains(message, "--set"));  // Which is no flag of this verb.
  CHECK(absl::StrContains(message, "seed: cannot be changed while the table is in use"));
  CHECK(absl::StrContains(message, "max_items"));
  const absl::Status wrong = WithChanges(SimpleTable("t"), {{"rate_limiter.min_items", "200000"}}).status();
  REQUIRE_CODE(wrong, absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(wrong.message(), "table \"t\" would be wrong: "));
  CHECK(absl::StrContains(wrong.message(), "is more than max_items"));
}

}  // namespace
}  // namespace waggle
