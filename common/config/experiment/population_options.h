#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The way in which a population varies one number.
struct MutationOptions {
  double factor = 1.2;  // A member that explores multiplies or divides the number by this.
  // The range that the population explores, both or neither. All members but the first begin with numbers that are
  // drawn from it, uniform in their logarithm. Absent: they begin with the file's number, multiplied or divided by the
  // factor, and the range is the number's own.
  std::optional<double> low;
  std::optional<double> high;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `experiment.population:` — population-based training (Jaderberg et al. 2017, arXiv 1711.09846). A hub runs the
// experiment as several that differ in their seeds and in some numbers. The worst of them take the weights and the
// numbers of the best, and vary these numbers.
struct PopulationOptions {
  int64_t size = 0;   // The number of its experiments; 0: there is no population.
  int64_t every = 0;  // Environment steps of a member from one comparison with the others to the next.
  std::map<std::string, MutationOptions> mutate;  // By key: "algorithm.optimizer.learning_rate".

  bool is_given() const { return size > 0; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
