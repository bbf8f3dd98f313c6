#include "common/rl/batches.h"

#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

TEST_CASE("transitions have the n-step return, what the last value counts, and importance weights", "[unit]") {
  const EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  TensorBatch batch = testing::DqnBatch(
      torch::tensor({{1.0F}, {2.0F}}), {1, 0}, torch::tensor({{1.0F, 2.0F, 9.0F}, {3.0F, 9.0F, 9.0F}}),
      torch::tensor({{1.0F, 1.0F, 9.0F}, {0.0F, 9.0F, 9.0F}}), torch::tensor({{5.0F}, {6.0F}}), {3, 2});
  batch.fields[kItemProbability] = torch::tensor({0.1, 0.4}, torch::kFloat64);
  const Batches batches(&environment, {{"transitions", &batch}});
  const Transitions plain = TransitionsOf(batches, 0.5);
  CHECK(torch::equal(plain.observation.at(0), torch::tensor({{1.0F}, {2.0F}})));
  CHECK(torch::equal(plain.next_observation.at(0), torch::tensor({{5.0F}, {6.0F}})));
  CHECK(torch::equal(plain.action, torch::tensor({1, 0}, torch::kInt64)));
  CHECK(torch::equal(plain.reward, torch::tensor({2.0F, 3.0F})));
  CHECK(torch::equal(plain.bootstrap, torch::tensor({0.25F, 0.0F})));
  CHECK(torch::equal(plain.weight, torch::ones({2})));
  CHECK(torch::allclose(TransitionsOf(batches, 0.5, 0.5).weight, torch::tensor({1.0F, 0.5F})));
  CHECK(&batches.at("transitions") == &batches.only());
}

TEST_CASE("every leaf of the observation stands in its place", "[unit]") {
  EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  environment.observations = {Box("observation/a", DType::kFloat32, {1}), Box("observation/b", DType::kUint8, {2})};
  TensorBatch batch = testing::DqnBatch(torch::ones({2, 1}), {1, 0}, torch::ones({2, 1}), torch::ones({2, 1}),
                                        torch::ones({2, 1}), {2, 2});
  batch.fields["observation/a"] = torch::zeros({2, 1});
  batch.fields["observation/b"] = torch::ones({2, 2}, torch::kUInt8);
  batch.fields["next_observation/a"] = torch::full({2, 1}, 2.0F);
  batch.fields["next_observation/b"] = torch::full({2, 2}, 3, torch::kUInt8);
  const Transitions t = TransitionsOf(Batches(&environment, {{"", &batch}}), 1);
  CHECK(torch::equal(t.observation.at(1), torch::ones({2, 2}, torch::kUInt8)));
  CHECK(torch::equal(t.next_observation.at(0), torch::full({2, 1}, 2.0F)));
  CHECK(torch::equal(t.next_observation.at(1), torch::full({2, 2}, 3, torch::kUInt8)));
}

}  // namespace
}  // namespace waggle
