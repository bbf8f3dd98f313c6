#include "common/hub/inference/act_layout.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a request's row has the observations and the start of an episode, an answer's row the rest", "[unit]") {
  EnvironmentSpec environment;
  environment.observations = {Box("observation/camera", DType::kUint8, {3, 4}),
                              Box("observation/speed", DType::kFloat32, {2})};
  environment.actions = {Discrete("action", 3)};
  const ActLayout layout(environment,
                         {ArraySpec{"log_prob", DType::kFloat32, {}}, ArraySpec{"state", DType::kFloat32, {5}}},
                         {"q_taken", "q_max"});
  CHECK(layout.RequestBytes() == 1 + 12 + 8);
  CHECK(layout.ResponseBytes() == 8 + 4 + 20 + 8);
  CHECK(layout.observations == std::vector<size_t>{12, 8});
  CHECK(layout.columns == std::vector<size_t>{4, 20});
}

}  // namespace
}  // namespace waggle
