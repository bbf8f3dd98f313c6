#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/random.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/population_options.h"
#include "common/config/live_fields.h"

// The decisions of population-based training (Jaderberg et al. 2017, arXiv 1711.09846). Pure functions.

namespace waggle {

// A member whose weights have been evaluated since it last took others.
struct PopulationMember {
  std::string id;
  double mean_return = 0;  // The newest evaluation's.
  bool is_due = false;     // It must be compared with the others now.
};

struct Exploitation {
  std::string loser;  // Takes the weights and numbers of the winner.
  std::string winner;
};

// Truncation selection: each member that is due and among the worst fifth takes from a member that is drawn from the
// best fifth, unless their returns are equal. A fifth is rounded down, but is one member at least.
std::vector<Exploitation> ChooseExploitations(std::vector<PopulationMember> members, Rng* rng);

// The numbers of a population, {"algorithm.optimizer.learning_rate", "0.0012"}.
using PopulationNumbers = std::vector<std::pair<std::string, std::string>>;

// The experiment's numbers that the population varies, each multiplied or divided by its factor, which is drawn. A
// number stays within its range. An integer is rounded.
PopulationNumbers Explore(const Experiment& experiment, Rng* rng);

// The members of an experiment's population, which has passed CheckPopulation. Member i has the experiment's seed + i.
// All but the first begin with other numbers: see MutationOptions. INVALID_ARGUMENT if the numbers of one contradict
// each other.
absl::StatusOr<std::vector<Experiment>> MakeMembers(const Experiment& experiment,
                                                    const AlgorithmDefinitions& algorithms);

}  // namespace waggle
