#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/base/random.h"
#include "common/nn/torch.h"
#include "tests/support/catch.h"

// Lanes for tests of returns, and columns of them: [T, lanes].

namespace waggle::testing {

// Float32 takes the sweep over memory, float64 LibTorch's operators.
inline const std::vector<torch::ScalarType> kTypes = {torch::kFloat32, torch::kFloat64};
inline const double kNaN = std::numeric_limits<double>::quiet_NaN();

// `value` is of each row's observation under the learning policy, and has one more.
struct Lane {
  std::vector<double> reward, discount, value;
  std::vector<bool> last;
  std::vector<double> ratio = {}, q = {};
};

inline torch::Tensor Column(const std::vector<Lane>& lanes, std::vector<double> Lane::*field, torch::ScalarType type) {
  std::vector<torch::Tensor> columns;
  for (const Lane& lane : lanes) {
    columns.push_back(torch::tensor(lane.*field, torch::kFloat64));
  }
  return torch::stack(columns, 1).to(type);
}

inline torch::Tensor Last(const std::vector<Lane>& lanes) {
  std::vector<torch::Tensor> columns;
  for (const Lane& lane : lanes) {
    columns.push_back(torch::tensor(std::vector<int64_t>(lane.last.begin(), lane.last.end())).to(torch::kBool));
  }
  return torch::stack(columns, 1);
}

// Episodes of random lengths, some of which terminate and some of which are truncated, cut into an unroll. Values that
// must be ignored are `filling`.
inline Lane RandomLane(int64_t steps, Rng* random, double filling) {
  Lane lane;
  bool last = random->Uniform() < 0.1;  // An unroll may begin with an episode's final observation.
  bool terminated = last && random->Uniform() < 0.5;
  for (int64_t t = 0; t < steps; ++t) {
    lane.last.push_back(last);
    lane.value.push_back(last && terminated ? filling : random->Uniform(-2, 2));
    lane.ratio.push_back(last ? filling : std::exp(random->Uniform(-2, 2)));
    lane.q.push_back(last ? filling : random->Uniform(-2, 2));
    const bool ends = !last && random->Uniform() < 0.25;
    terminated = ends && random->Uniform() < 0.5;
    lane.reward.push_back(last ? filling : random->Uniform(-1, 1));
    lane.discount.push_back(last ? filling : terminated ? 0 : 0.97);
    last = ends;
  }
  lane.value.push_back(terminated ? filling : random->Uniform(-2, 2));
  return lane;
}

}  // namespace waggle::testing
