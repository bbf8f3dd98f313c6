#include "common/experiment/family_defaults.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an item is sampled as often on average as makes one learner step for each environment step", "[unit]") {
  Experiment experiment;
  OffPolicyDefaults(&experiment);
  const int64_t batch_size = experiment.learner.batch_size;
  const TableConfig table = experiment.replay.TableFor(batch_size);
  CHECK(table.rate_limiter.samples_per_insert == static_cast<double>(batch_size));
  REQUIRE_OK(table.CheckBatchSize(batch_size));
  REQUIRE_OK(table.ValidateSettings());
  CHECK(table.sampler.kind == SelectorKind::kUniform);
  // Actors can go no further ahead than a few steps, for the batches that the limiter leaves open are as many.
  CHECK(table.rate_limiter.error_buffer == 10 * static_cast<double>(batch_size));
}

TEST_CASE("a network of dense layers has them as its torso and nothing else", "[unit]") {
  const NetworkSpec network = Mlp({7, 5});
  REQUIRE(network.torso.size() == 1);
  CHECK(network.torso[0].type == "mlp");
  CHECK(network.torso[0].units == std::vector<int64_t>{7, 5});
  CHECK(network.heads.empty());
  CHECK(network.encoders.empty());
}

}  // namespace
}  // namespace waggle
