#include "param_server/experiments/population.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/annotate.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "common/config/scalar_text.h"

namespace waggle {
namespace {

constexpr size_t kShare = 5;

// `value`, with six digits, in the range that the population explores, as text.
std::string InRange(double value, const LiveFields::Number& number, const MutationOptions& mutation) {
  WAGGLE_CHECK(absl::SimpleAtod(absl::StrFormat("%.6g", value), &value), "a number's text is a number");
  value = std::clamp(value, mutation.low.value_or(number.range.low), mutation.high.value_or(number.range.high));
  value = number.is_whole ? std::round(value) : value;
  // The range may leave its lower bound out, and rounding may leave the range.
  value = number.range.Holds(value) ? value : number.value;
  return number.is_whole ? absl::StrCat(static_cast<int64_t>(value)) : NumberText(value);
}

std::string Explored(const LiveFields::Number& number, const MutationOptions& mutation, Rng* rng) {
  const double factor = rng->UniformInt(2) == 0 ? mutation.factor : 1 / mutation.factor;
  return InRange(number.value * factor, number, mutation);
}

std::string Drawn(const LiveFields::Number& number, const MutationOptions& mutation, Rng* rng) {
  if (!mutation.low.has_value()) {
    return Explored(number, mutation, rng);
  }
  return InRange(std::exp(rng->Uniform(std::log(*mutation.low), std::log(*mutation.high))), number, mutation);
}

PopulationNumbers Varied(const Experiment& experiment, Rng* rng,
                         std::string (*vary)(const LiveFields::Number&, const MutationOptions&, Rng*)) {
  LiveFields fields;
  VisitExperiment(experiment, fields);
  PopulationNumbers numbers;
  for (const auto& [key, mutation] : experiment.experiment.population.mutate) {
    // A user may have set a schedule in place of the number.
    if (const auto number = fields.numbers().find(key); number != fields.numbers().end()) {
      numbers.emplace_back(key, vary(number->second, mutation, rng));
    }
  }
  return numbers;
}

}  // namespace

std::vector<Exploitation> ChooseExploitations(std::vector<PopulationMember> members, Rng* rng) {
  std::vector<Exploitation> chosen;
  if (members.size() < 2) {
    return chosen;
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.mean_return < b.mean_return; });
  const size_t fifth = std::max<size_t>(1, members.size() / kShare);
  for (size_t i = 0; i < fifth; ++i) {
    const PopulationMember& loser = members[i];
    if (!loser.is_due) {
      continue;
    }
    const PopulationMember& winner = members[members.size() - 1 - rng->UniformInt(fifth)];
    if (loser.mean_return < winner.mean_return) {
      chosen.push_back({loser.id, winner.id});
    }
  }
  return chosen;
}

PopulationNumbers Explore(const Experiment& experiment, Rng* rng) {
  return Varied(experiment, rng, &Explored);
}

absl::StatusOr<std::vector<Experiment>> MakeMembers(const Experiment& experiment,
                                                    const AlgorithmDefinitions& algorithms) {
  const int64_t size = experiment.experiment.population.size;
  const int64_t seed = experiment.experiment.seed;
  if (seed > std::numeric_limits<int64_t>::max() - size) {
    return absl::InvalidArgumentError(absl::StrCat("experiment.seed: got ", seed, "; wanted a number to which ", size,
                                                   ", the size of the population, can be added"));
  }
  const std::string yaml = ToYaml(experiment);
  std::vector<Experiment> members = {experiment};
  for (int64_t i = 1; i < size; ++i) {
    Rng rng = Rng::Split(static_cast<uint64_t>(seed), "population", static_cast<uint64_t>(i));
    PopulationNumbers changes = Varied(experiment, &rng, &Drawn);
    changes.emplace_back("experiment.seed", absl::StrCat(seed + i));
    absl::StatusOr<Experiment> member = ParseStoredExperiment(yaml, "the experiment", changes, algorithms);
    if (!member.ok()) {
      return Annotate(member.status(), absl::StrCat("member ", i, " of the population"));
    }
    members.push_back(*std::move(member));
  }
  return members;
}

}  // namespace waggle
