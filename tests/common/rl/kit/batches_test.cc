#include "common/rl/kit/batches.h"

#include <cmath>

#include "tests/support/catch.h"
#include "tests/support/dqn.h"

namespace waggle {
namespace {

TEST_CASE("transitions have the n-step return, the last value's factor, and importance weights", "[unit]") {
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
  CHECK(torch::equal(plain.n_step_return, torch::tensor({2.0F, 3.0F})));
  CHECK(torch::equal(plain.bootstrap, torch::tensor({0.25F, 0.0F})));
  CHECK(torch::equal(plain.weight, torch::ones({2})));
  CHECK(torch::allclose(TransitionsOf(batches, 0.5, 0.5).weight, torch::tensor({1.0F, 0.5F})));
}

TEST_CASE("a batch of one of several tables is converted as that of an only table", "[unit]") {
  const EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  TensorBatch batch = testing::DqnBatch(torch::tensor({{1.0F}}), {1}, torch::tensor({{1.0F, 2.0F}}),
                                        torch::ones({1, 2}), torch::tensor({{5.0F}}), {3});
  const TensorBatch other;
  const Batches batches(&environment, {{"transitions", &batch}, {"others", &other}});
  CHECK(batches.Has("others"));
  CHECK_FALSE(batches.Has("thirds"));
  const Transitions transitions = TransitionsOf(environment, batches.at("transitions"), 0.5);
  CHECK(torch::equal(transitions.n_step_return, torch::tensor({2.0F})));
  CHECK(torch::equal(transitions.observation.at(0), torch::tensor({{1.0F}})));
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

// An item a row, as sampled: two of three steps and the row that only shows.
TensorBatch UnrollBatch() {
  const float nan = std::nanf("");
  TensorBatch batch;
  batch.size = 2;
  batch.fields[kObservation] = torch::arange(8, torch::kFloat32).view({2, 4, 1});
  batch.fields[kAction] = torch::tensor({{1, 0, 1, 1}, {1, 1, 1, 1}}, torch::kInt64);
  batch.fields[kReward] = torch::tensor({{1.0F, 2.0F, nan, 4.0F}, {5.0F, 6.0F, 7.0F, nan}});
  batch.fields[kDiscount] = torch::tensor({{1.0F, 0.0F, nan, 1.0F}, {1.0F, 1.0F, 0.0F, nan}});
  batch.fields[kStepType] = torch::tensor({{0, 1, 2, 0}, {1, 1, 1, 2}}, torch::kInt32);
  batch.fields["log_prob"] = torch::tensor({{0.1F, 0.2F, 0.3F, 0.4F}, {0.5F, 0.6F, 0.7F, 0.8F}});
  batch.fields[kItemLength] = torch::tensor({4, 4}, torch::kInt64);
  return batch;
}

TEST_CASE("unrolls are time-major, and mark the steps that begin, end and count", "[unit]") {
  const EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  const TensorBatch batch = UnrollBatch();
  const Unrolls u = UnrollsOf(Batches(&environment, {{"unrolls", &batch}}), 0.5);
  REQUIRE(u.observation.size() == 1);
  CHECK(torch::equal(u.observation[0].squeeze(-1),
                     torch::tensor({{0.0F, 4.0F}, {1.0F, 5.0F}, {2.0F, 6.0F}, {3.0F, 7.0F}})));
  CHECK(torch::equal(u.first, torch::tensor({{1, 0}, {0, 0}, {0, 0}, {1, 0}}).to(torch::kBool)));
  CHECK(torch::equal(u.last, torch::tensor({{0, 0}, {0, 0}, {1, 0}}).to(torch::kBool)));
  CHECK(torch::equal(u.counts, u.last.logical_not()));
  // Zero in an episode's last row, and in the row that only shows.
  CHECK(torch::equal(u.action, torch::tensor({{1, 1}, {0, 1}, {0, 1}, {0, 0}}, torch::kInt64)));
  CHECK(torch::allclose(u.reward, torch::tensor({{1.0F, 5.0F}, {2.0F, 6.0F}, {std::nanf(""), 7.0F}}), 0, 0, true));
  CHECK(torch::allclose(u.discount, torch::tensor({{0.5F, 0.5F}, {0.0F, 0.5F}, {std::nanf(""), 0.0F}}), 0, 0, true));
  CHECK(torch::equal(u.Column("log_prob"), torch::tensor({{0.1F, 0.5F}, {0.2F, 0.6F}, {0.3F, 0.7F}})));
  CHECK_FALSE(u.core_state.defined());
}

TEST_CASE("an unroll's action of several elements is all zero if no step follows", "[unit]") {
  EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  environment.actions = {Box("action", DType::kFloat32, {3})};
  TensorBatch batch = UnrollBatch();
  batch.fields[kAction] = torch::ones({2, 4, 3});
  batch.fields[kAction][0][2] = std::nanf("");
  batch.fields["core_state"] = torch::ones({2, 5});
  const Unrolls u = UnrollsOf(Batches(&environment, {{"unrolls", &batch}}), 0.5);
  const torch::Tensor acts = torch::tensor({{1.0F, 1.0F}, {1.0F, 1.0F}, {0.0F, 1.0F}, {0.0F, 0.0F}});
  CHECK(torch::equal(u.action, acts.unsqueeze(-1).expand({4, 2, 3})));
  CHECK(torch::equal(u.core_state, torch::ones({2, 5})));
}

TEST_CASE("the elements of several actions stand side by side, choices first", "[unit]") {
  EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  environment.actions = {Box("action/arm", DType::kFloat32, {1, 2}), Discrete("action/gear", 3),
                         MultiBinary("action/lights", {2}), Box("action/steer", DType::kFloat32, {})};
  TensorBatch batch = UnrollBatch();
  batch.fields["action/arm"] = torch::arange(16, torch::kFloat32).view({2, 4, 1, 2});
  batch.fields["action/gear"] = torch::tensor({{2, 1, 0, 2}, {0, 1, 2, 0}}, torch::kInt64);
  batch.fields["action/lights"] = torch::arange(16).remainder(3).to(torch::kBool).view({2, 4, 2});
  batch.fields["action/steer"] = torch::full({2, 4}, -0.5F);
  const Batches batches(&environment, {{"unrolls", &batch}});
  const Unrolls u = UnrollsOf(batches, 0.5);
  REQUIRE(u.action.sizes() == at::IntArrayRef{4, 2, 6});
  REQUIRE(u.action.scalar_type() == torch::kFloat32);
  CHECK(torch::equal(u.action[0],
                     torch::tensor({{2.0F, 0.0F, 1.0F, 0.0F, 1.0F, -0.5F}, {0.0F, 1.0F, 0.0F, 8.0F, 9.0F, -0.5F}})));
  CHECK(torch::equal(u.action[2][0], torch::zeros({6})));  // No step follows.

  environment.actions = {Discrete("action/gear", 3), MultiBinary("action/lights", {2})};
  const Unrolls choices = UnrollsOf(batches, 0.5);
  REQUIRE(choices.action.sizes() == at::IntArrayRef{4, 2, 3});
  CHECK(torch::equal(choices.action[1], torch::tensor({{1, 1, 0}, {1, 1, 1}}, torch::kInt64)));
  environment.actions = {MultiDiscrete("action/gear", {3})};
  batch.fields["action/gear"] = batch.fields["action/gear"].unsqueeze(-1);
  CHECK(UnrollsOf(batches, 0.5).action.sizes() == at::IntArrayRef{4, 2, 1});

  environment.actions = {Box("action/arm", DType::kFloat32, {1, 2}), Box("action/steer", DType::kFloat32, {})};
  TensorBatch rows = testing::DqnBatch(torch::ones({2, 1}), {1, 0}, torch::ones({2, 1}), torch::ones({2, 1}),
                                       torch::ones({2, 1}), {2, 2});
  rows.fields["action/arm"] = torch::tensor({{{1.0F, 2.0F}}, {{3.0F, 4.0F}}});
  rows.fields["action/steer"] = torch::tensor({5.0F, 6.0F});
  CHECK(torch::equal(TransitionsOf(Batches(&environment, {{"", &rows}}), 1).action,
                     torch::tensor({{1.0F, 2.0F, 5.0F}, {3.0F, 4.0F, 6.0F}})));
}

TEST_CASE("episodes count up to their own ends, and are as long as the longest of the batch", "[unit]") {
  const EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  const float nan = std::nanf("");
  TensorBatch batch;
  batch.size = 2;
  batch.fields[kItemLength] = torch::tensor({4, 2}, torch::kInt64);
  batch.fields[kObservation] =
      torch::tensor({{1.0F, 2.0F, 3.0F, 4.0F, nan}, {5.0F, 6.0F, nan, nan, nan}}).unsqueeze(-1);
  batch.fields[kAction] = torch::ones({2, 5}, torch::kInt64);
  batch.fields[kReward] = torch::tensor({{1.0F, 2.0F, 3.0F, nan, nan}, {4.0F, nan, nan, nan, nan}});
  batch.fields[kDiscount] = torch::tensor({{1.0F, 1.0F, 0.0F, nan, nan}, {1.0F, nan, nan, nan, nan}});
  batch.fields[kStepType] = torch::tensor({{0, 1, 1, 2, 0}, {0, 2, 0, 1, 0}}, torch::kInt32);
  batch.fields["log_prob"] = torch::tensor({{0.1F, 0.2F, 0.3F, nan, nan}, {0.4F, nan, nan, nan, nan}});
  const Unrolls u = UnrollsOf(Batches(&environment, {{"episodes", &batch}}), 0.5);
  CHECK(torch::equal(u.observation[0].squeeze(-1),
                     torch::tensor({{1.0F, 5.0F}, {2.0F, 6.0F}, {3.0F, 0.0F}, {4.0F, 0.0F}})));
  CHECK(torch::equal(u.first, torch::tensor({{1, 1}, {0, 0}, {0, 0}, {0, 0}}).to(torch::kBool)));
  CHECK(torch::equal(u.counts, torch::tensor({{1, 1}, {1, 0}, {1, 0}}).to(torch::kBool)));
  CHECK(torch::equal(u.last, u.counts.logical_not()));
  CHECK(torch::equal(u.action, torch::tensor({{1, 1}, {1, 0}, {1, 0}, {0, 0}}, torch::kInt64)));
  CHECK(torch::allclose(u.reward, torch::tensor({{1.0F, 4.0F}, {2.0F, nan}, {3.0F, nan}}), 0, 0, true));
  CHECK(torch::allclose(u.discount, torch::tensor({{0.5F, 0.5F}, {0.5F, nan}, {0.0F, nan}}), 0, 0, true));
  CHECK(torch::allclose(u.Column("log_prob"), torch::tensor({{0.1F, 0.4F}, {0.2F, nan}, {0.3F, nan}}), 0, 0, true));
}

TEST_CASE("items of a single row have no step, and a batch of only these has one that does not count", "[unit]") {
  const EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  TensorBatch batch = UnrollBatch();
  batch.fields[kItemLength] = torch::ones({2}, torch::kInt64);
  const Unrolls u = UnrollsOf(Batches(&environment, {{"", &batch}}), 0.5);
  CHECK(u.observation.at(0).sizes() == at::IntArrayRef({2, 2, 1}));
  CHECK(u.reward.sizes() == at::IntArrayRef({1, 2}));
  CHECK_FALSE(u.counts.any().item<bool>());
  CHECK(u.last.all().item<bool>());
  CHECK(torch::equal(u.observation.at(0)[1], torch::zeros({2, 1})));
}

TEST_CASE("sequences count after their burn-in, or as a whole if their episode begins", "[unit]") {
  const EnvironmentSpec environment = testing::DqnEnvironment(1, 2);
  TensorBatch batch = UnrollBatch();
  // The first begins with its episode, which ends after two steps; the second goes on for three.
  batch.fields[kItemLength] = torch::tensor({3, 4}, torch::kInt64);
  batch.fields[kItemProbability] = torch::tensor({0.1, 0.4}, torch::kFloat64);
  const Batches batches(&environment, {{"sequences", &batch}});
  const Sequences s = SequencesOf(batches, 0.5, 2, 0.5);
  CHECK(torch::equal(s.counts, torch::tensor({{1, 1}, {1, 1}, {0, 1}}).to(torch::kBool)));
  CHECK(torch::equal(s.learned, torch::tensor({{1, 0}, {1, 0}, {0, 1}}).to(torch::kBool)));
  CHECK(torch::allclose(s.weight, torch::tensor({1.0F, 0.5F})));
  CHECK(torch::equal(SequencesOf(batches, 0.5, 0).learned, s.counts));
  CHECK(torch::equal(SequencesOf(batches, 0.5, 0).weight, torch::ones({2})));
  CHECK(torch::equal(SequencesOf(environment, batch, 0.5, 2).learned, s.learned));
  CHECK(torch::equal(UnrollsOf(environment, batch, 0.5).counts, s.counts));
}

}  // namespace
}  // namespace waggle
