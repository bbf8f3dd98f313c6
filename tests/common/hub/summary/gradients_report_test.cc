#include "common/hub/summary/gradients_report.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Outcomes of gradients add up, and refusals have their reasons", "[unit]") {
  GradientFacts gradients;
  gradients.pushed = 10;
  gradients.applied = 10;
  CHECK(gradients.Unanswered() == 0);
  CHECK(GradientsText(gradients) == "10 applied, 0 refused, 0 not answered");
  gradients.pushed = 20;
  gradients.refused = {{"stale", 6}, {"not_finite", 1}};
  CHECK(gradients.Refused() == 7);
  CHECK(GradientsText(gradients) == "10 applied, 7 refused (not_finite 1, stale 6), 3 not answered");
  const nlohmann::ordered_json json = GradientsJson(gradients);
  CHECK(json.at("pushed") == 20);
  CHECK(json.at("pushed").is_number_integer());
  CHECK(json.at("applied").get<int64_t>() + json.at("refused").get<int64_t>() + json.at("unanswered").get<int64_t>() ==
        20);
}

TEST_CASE("Without pushed gradients there is no report", "[unit]") {
  CHECK(GradientsJson(std::nullopt).is_null());
}

}  // namespace
}  // namespace waggle
