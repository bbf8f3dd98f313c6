#include "common/hub/summary/result_report.h"

#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A result's text has all facts of its evaluation", "[unit]") {
  v1::Result result;
  *result.mutable_evaluation() = testing::SampleOverview().evaluations(0);
  result.mutable_evaluation()->set_standard_deviation(44.72135955);
  result.mutable_evaluation()->set_mean_length(400);
  result.mutable_evaluation()->set_env_steps(46'123);
  result.set_confirmed(true);
  CHECK(
      ResultText(result) ==
      "best: mean return 412.5, standard error 10.0, over 20 episodes, confirmed; weights of learner step 5200, after "
      "46123 environment steps");
}

}  // namespace
}  // namespace waggle
