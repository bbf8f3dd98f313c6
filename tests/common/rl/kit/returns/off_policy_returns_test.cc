#include "common/rl/kit/returns/off_policy_returns.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/common/rl/kit/returns/lanes.h"

namespace waggle {
namespace {

using testing::Column;
using testing::kNaN;
using testing::kTypes;
using testing::Lane;
using testing::Last;
using testing::RandomLane;
using torch::Tensor;

Advantages ComputeVTrace(const VTraceOptions& options, const std::vector<Lane>& lanes, torch::ScalarType type) {
  return VTrace(options, Column(lanes, &Lane::ratio, type).log(), Column(lanes, &Lane::reward, type),
                Column(lanes, &Lane::discount, type), Column(lanes, &Lane::value, type), Last(lanes));
}

Tensor ComputeRetrace(double lambda, const std::vector<Lane>& lanes, torch::ScalarType type) {
  return RetraceTargets(lambda, Column(lanes, &Lane::ratio, type).log(), Column(lanes, &Lane::reward, type),
                        Column(lanes, &Lane::discount, type), Column(lanes, &Lane::q, type),
                        Column(lanes, &Lane::value, type), Last(lanes));
}

double Next(const Lane& lane, size_t t, double next) {
  return lane.discount[t] == 0 ? 0 : lane.discount[t] * next;
}

// Equation 1 of the paper as it stands: a sum over the steps that follow, up to the episode's end.
double ReferenceVTrace(const VTraceOptions& options, const Lane& lane, size_t t) {
  double v = lane.value[t];
  double weight = 1;
  for (size_t k = t; k < lane.reward.size() && !lane.last[k] && weight != 0; ++k) {
    const double error = lane.reward[k] + Next(lane, k, lane.value[k + 1]) - lane.value[k];
    v += weight * std::min(options.rho_clip, lane.ratio[k]) * error;
    weight *= lane.discount[k] * options.lambda * std::min(options.c_clip, lane.ratio[k]);
  }
  return v;
}

double ReferenceAdvantage(const VTraceOptions& options, const Lane& lane, size_t t) {
  const bool at_end = t + 1 == lane.reward.size() || lane.last[t + 1] || lane.discount[t] == 0;
  const double next =
      at_end ? lane.value[t + 1]
             : options.lambda * ReferenceVTrace(options, lane, t + 1) + (1 - options.lambda) * lane.value[t + 1];
  return std::min(options.rho_clip, lane.ratio[t]) * (lane.reward[t] + Next(lane, t, next) - lane.value[t]);
}

// Equation 3 of the paper: the errors of what follows, each weighted by the ratios on the way.
double ReferenceRetrace(double lambda, const Lane& lane, size_t t) {
  double target = lane.q[t];
  double weight = 1;
  for (size_t k = t; k < lane.reward.size() && !lane.last[k] && weight != 0; ++k) {
    if (k > t) {
      weight *= lambda * std::min(1.0, lane.ratio[k]);
    }
    target += weight * (lane.reward[k] + Next(lane, k, lane.value[k + 1]) - lane.q[k]);
    weight *= lane.discount[k];
  }
  return target;
}

template <class Check>
void ForRandomLanes(const Check& check) {
  for (const torch::ScalarType type : kTypes) {
    Rng random(23);
    std::vector<Lane> lanes;
    for (int i = 0; i < 40; ++i) {
      lanes.push_back(RandomLane(20, &random, i % 2 == 0 ? kNaN : 5));
    }
    check(lanes, type);
  }
}

double At(const Tensor& tensor, size_t t, size_t lane) {
  return tensor[static_cast<int64_t>(t)][static_cast<int64_t>(lane)].item<double>();
}

TEST_CASE("V-trace agrees with its definition, over many episodes in an unroll", "[unit]") {
  for (const VTraceOptions options :
       {VTraceOptions{1, 1, 1}, VTraceOptions{2, 0.5, 1}, VTraceOptions{1, 1, 0.9}, VTraceOptions{1.5, 1, 0}}) {
    ForRandomLanes([&](const std::vector<Lane>& lanes, torch::ScalarType type) {
      const Advantages result = ComputeVTrace(options, lanes, type);
      REQUIRE(result.advantage.scalar_type() == type);
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        for (size_t t = 0; t < 20; ++t) {
          INFO("lane " << lane << ", step " << t);
          const bool last = lanes[lane].last[t];
          CHECK(At(result.value_target, t, lane) ==
                Approx(last ? 0 : ReferenceVTrace(options, lanes[lane], t)).margin(1e-5));
          CHECK(At(result.advantage, t, lane) ==
                Approx(last ? 0 : ReferenceAdvantage(options, lanes[lane], t)).margin(1e-5));
        }
      }
    });
  }
}

TEST_CASE("V-trace of the learning policy's own actions is the lambda-return", "[unit]") {
  ForRandomLanes([](std::vector<Lane> lanes, torch::ScalarType type) {
    for (Lane& lane : lanes) {
      lane.ratio.assign(lane.ratio.size(), 1);
    }
    for (const double lambda : {0.0, 0.7, 1.0}) {
      const Advantages result = ComputeVTrace({1, 1, lambda}, lanes, type);
      const Advantages wanted =
          GeneralizedAdvantages(Column(lanes, &Lane::reward, type), Column(lanes, &Lane::discount, type),
                                Column(lanes, &Lane::value, type), Last(lanes), lambda);
      CHECK(torch::allclose(result.value_target, wanted.value_target, 0, 1e-5));
      CHECK(torch::allclose(result.advantage, wanted.advantage, 0, 1e-5));
    }
  });
}

void CheckIs(const Tensor& tensor, const std::vector<double>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(At(tensor, i, 0) == Approx(wanted[i]).epsilon(1e-5));
  }
}

TEST_CASE("known V-trace values of four steps", "[unit]") {
  // An episode of four steps and its final observation, whose own row does not count.
  const Lane truncated{{1, 2, 3, 4, kNaN},
                       {0.9, 0.9, 0.9, 0.9, kNaN},
                       {0.5, 1, 1.5, 2, 7, kNaN},
                       {false, false, false, false, true},
                       {1.5, 0.5, 1, 0.8, kNaN}};
  Lane terminated = truncated;
  terminated.discount[3] = 0;
  terminated.value[4] = kNaN;
  const Lane twos{{1, 1, 1, 1}, {0.9, 0.9, 0.9, 0}, {2, 2, 2, 2, kNaN}, {false, false, false, false}, {1, 1, 1, 1}};
  for (const torch::ScalarType type : kTypes) {
    CheckIs(ComputeVTrace({}, {terminated}, type).value_target, {4.8772, 4.308, 6.24, 3.6, 0});
    CheckIs(ComputeVTrace({}, {terminated}, type).advantage, {4.3772, 3.308, 4.74, 1.6, 0});
    CheckIs(ComputeVTrace({}, {truncated}, type).value_target, {6.71428, 6.3492, 10.776, 8.64, 0});
    CheckIs(ComputeVTrace({}, {truncated}, type).advantage, {6.21428, 5.3492, 9.276, 6.64, 0});
    CheckIs(ComputeVTrace({}, {twos}, type).value_target, {3.439, 2.71, 1.9, 1});
  }
}

TEST_CASE("Retrace agrees with its definition, over many episodes in an unroll", "[unit]") {
  for (const double lambda : {0.0, 0.9, 1.0}) {
    ForRandomLanes([lambda](const std::vector<Lane>& lanes, torch::ScalarType type) {
      const Tensor result = ComputeRetrace(lambda, lanes, type);
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        for (size_t t = 0; t < 20; ++t) {
          INFO("lambda " << lambda << ", lane " << lane << ", step " << t);
          CHECK(At(result, t, lane) ==
                Approx(lanes[lane].last[t] ? 0 : ReferenceRetrace(lambda, lanes[lane], t)).margin(1e-5));
        }
      }
    });
  }
}

TEST_CASE("a probability that has become very large or very small counts as its clip or as nothing", "[unit]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Lane lane{{1, 1, 1}, {0.5, 0.5, 0.5}, {0, 0, 0, 0}, {false, false, false}, {infinity, 0, 1}, {0, 0, 0}};
  for (const torch::ScalarType type : kTypes) {
    CheckIs(ComputeVTrace({}, {lane}, type).value_target, {1, 0, 1});
    CheckIs(ComputeRetrace(1, {lane}, type), {1.0, 1.5, 1});
  }
}

TEST_CASE("returns are constants, and shapes that do not fit are refused", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    const Tensor step = torch::ones({2, 3}, type);
    const Tensor last = torch::zeros({2, 3}, torch::kBool);
    const Tensor value = torch::ones({3, 3}, type).requires_grad_();
    CHECK_FALSE(VTrace({}, step, step, step, value, last).advantage.requires_grad());
    CHECK_FALSE(RetraceTargets(1, step, step, step, step, value, last).requires_grad());
    CHECK_THROWS_AS(VTrace({}, step, step, step, step, last), c10::Error);
    CHECK_THROWS_AS(VTrace({}, value, step, step, value, last), c10::Error);
    CHECK_THROWS_AS(RetraceTargets(1, step, step, step, value, value, last), c10::Error);
    CHECK_THROWS_AS(RetraceTargets(1, step, step, step, step, step, last), c10::Error);
  }
}

}  // namespace
}  // namespace waggle
