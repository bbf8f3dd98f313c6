#include "common/config/experiment/population_checks.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/config/live_fields.h"

namespace waggle {
namespace {

constexpr char kMutate[] = "experiment.population.mutate.";

void CheckMutation(const std::string& key, const MutationOptions& mutation, const LiveFields& fields,
                   Problems* problems) {
  const std::string path = absl::StrCat(kMutate, key);
  const auto number = fields.numbers().find(key);
  if (number == fields.numbers().end()) {
    std::vector<std::string> keys;
    for (const auto& [known, value] : fields.numbers()) {
      keys.push_back(known);
    }
    const auto text = fields.values().find(key);
    problems->AddUnless(text == fields.values().end(), path, ": ", key, " is ",
                        text == fields.values().end() ? "" : text->second, "; wanted a number, which does not move");
    problems->AddUnless(text != fields.values().end(), path,
                        ": is no number that can change while the experiment runs; wanted one of ",
                        absl::StrJoin(keys, ", "), DidYouMean(key, keys));
    return;
  }
  const LiveFields::Number& known = number->second;
  problems->AddUnless(known.value != 0, path, ": ", key, " is 0, which no factor changes; wanted another number");
  if (!mutation.low.has_value()) {
    return;
  }
  problems->AddUnless(known.range.Holds(*mutation.low) && known.range.Holds(*mutation.high), path, ": got [",
                      *mutation.low, ", ", *mutation.high, "]; wanted a part of the key's own range, ",
                      known.range.NumberText());
  problems->AddUnless(known.value >= *mutation.low && known.value <= *mutation.high, path, ": ", key, " is ",
                      known.value, "; wanted a number in [", *mutation.low, ", ", *mutation.high, "]");
}

}  // namespace

absl::Status CheckPopulation(const Experiment& experiment) {
  const PopulationOptions& population = experiment.experiment.population;
  if (!population.is_given()) {
    return absl::OkStatus();
  }
  Problems problems;
  problems.AddUnless(!experiment.experiment.deterministic,
                     "experiment.deterministic: got true beside experiment.population, whose numbers change while it "
                     "runs; wanted false");
  problems.AddUnless(experiment.evaluation.enabled,
                     "evaluation.enabled: got false beside experiment.population, which compares evaluations; wanted "
                     "true");
  problems.AddUnless(experiment.learner.processes == 1, "learner.processes: got ", experiment.learner.processes,
                     " beside experiment.population; wanted 1 for each of its experiments");
  problems.AddUnless(experiment.learner.gradients == "local", "learner.gradients: got ", experiment.learner.gradients,
                     " beside experiment.population, whose learners exchange weights; wanted local");
  LiveFields fields;
  VisitExperiment(experiment, fields);
  for (const auto& [key, mutation] : population.mutate) {
    CheckMutation(key, mutation, fields, &problems);
  }
  return problems.ToStatus();
}

}  // namespace waggle
