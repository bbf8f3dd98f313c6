#pragma once

#include <cstdint>

#include "common/config/plan/table_plan.h"

namespace waggle {

// The return of some steps and the factor of the next state's value.
template <class Real>
struct NStepSum {
  Real rewards = 0;    // Sum over k < steps of gamma^k * prod_{j<k} discount_j * reward_k.
  Real bootstrap = 1;  // gamma^steps * prod_{j<steps} discount_j.

  // A bootstrap of 0 ignores the value, even if it is not finite.
  Real With(Real value) const { return bootstrap == 0 ? rewards : rewards + bootstrap * value; }
};

// `reward(k)` and `discount(k)` are those of step k; discount is the environment's.
template <class Real, class Reward, class Discount>
NStepSum<Real> SumSteps(int64_t steps, Real gamma, const Reward& reward, const Discount& discount) {
  NStepSum<Real> sum;
  for (int64_t k = 0; k < steps; ++k) {
    sum.rewards += sum.bootstrap * static_cast<Real>(reward(k));
    sum.bootstrap *= gamma * static_cast<Real>(discount(k));
  }
  return sum;
}

// The same for a window's first rows.
inline NStepSum<double> SumSteps(const WindowRow* rows, int64_t steps, double gamma) {
  return SumSteps(
      steps, gamma, [rows](int64_t k) { return rows[k].reward; }, [rows](int64_t k) { return rows[k].discount; });
}

}  // namespace waggle
