#include "common/config/experiment/population_options.h"

#include "common/base/problems.h"

namespace waggle {
namespace {

constexpr double kMostMembers = 100;
constexpr double kMostSteps = 1e12;
constexpr double kLargest = 1e12;

}  // namespace

void MutationOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("factor", &factor, Above(1, 1000));
  visitor.OptionalDouble("low", &low, Above(0, kLargest));
  visitor.OptionalDouble("high", &high, Above(0, kLargest));
}

absl::Status MutationOptions::Validate() const {
  Problems problems;
  problems.AddUnless(low.has_value() == high.has_value(), low.has_value() ? "low" : "high",
                     ": is given alone; wanted low and high, or neither");
  problems.AddUnless(!low.has_value() || !high.has_value() || *low < *high, "low: got ", low.value_or(0),
                     "; wanted less than high, ", high.value_or(0));
  return problems.ToStatus();
}

void PopulationOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("size", &size, In(2, kMostMembers));
  visitor.Int("every", &every, In(1, kMostSteps));
  visitor.Map("mutate", &mutate);
}

absl::Status PopulationOptions::Validate() const {
  Problems problems;
  problems.AddUnless(size > 0, "size: is missing; wanted the number of experiments");
  problems.AddUnless(every > 0, "every: is missing; wanted a number of environment steps");
  problems.AddUnless(!mutate.empty(),
                     "mutate: is missing; wanted KEY: {factor: NUMBER} for each number that the population varies");
  return problems.ToStatus();
}

}  // namespace waggle
