#pragma once

#include <cstdint>

#include "common/plan/table_plan.h"

namespace waggle {

// What some steps and the value of the state behind them come to.
template <class Real>
struct NStepSum {
  Real rewards = 0;    // Sum over k < steps of gamma^k * prod_{j<k} discount_j * reward_k.
  Real bootstrap = 1;  // gamma^steps * prod_{j<steps} discount_j.

  // Where the bootstrap is 0 the value does not count, whatever it is.
  Real With(Real value) const { return bootstrap == 0 ? rewards : rewards + bootstrap * value; }
};

// `reward` and `discount` say those of step k; discount is the environment's.
template <class Real, class Reward, class Discount>
NStepSum<Real> SumSteps(int64_t steps, Real gamma, const Reward& reward, const Discount& discount) {
  NStepSum<Real> sum;
  for (int64_t k = 0; k < steps; ++k) {
    sum.rewards += sum.bootstrap * static_cast<Real>(reward(k));
    sum.bootstrap *= gamma * static_cast<Real>(discount(k));
  }
  return sum;
}

// The same of a window's first rows.
inline NStepSum<double> SumSteps(const WindowRow* rows, int64_t steps, double gamma) {
  return SumSteps(
      steps, gamma, [rows](int64_t k) { return rows[k].reward; }, [rows](int64_t k) { return rows[k].discount; });
}

}  // namespace waggle
