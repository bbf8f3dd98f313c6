#include "common/rl/publishing/initial_weights.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "common/rl/checkpoint/saved_parameters.h"
#include "common/rl/checkpoint/saved_weights.h"

namespace waggle {
namespace {

constexpr char kFrom[] = "learner.init.from";
constexpr char kMap[] = "learner.init.map";

bool BeginsWith(absl::string_view name, absl::string_view prefix) {
  return absl::ConsumePrefix(&name, prefix) && (name.empty() || name[0] == '.');
}

std::string NetworkOf(const std::string& parameter) {
  return parameter.substr(0, parameter.find('.'));
}

// The networks and learned numbers that an experiment publishes.
absl::StatusOr<std::vector<std::string>> Published(const std::string& experiment_yaml,
                                                   const EnvironmentSpec& environment,
                                                   const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment,
                          ParseStoredExperiment(experiment_yaml, "the experiment in it", {}, algorithms));
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmDefinition* const definition, algorithms.Find(experiment.algorithm));
  const PlanContext context{environment, experiment.networks, experiment.replay, experiment.learner};
  WAGGLE_ASSIGN_OR_RETURN(const AlgorithmPlan plan, definition->plan(*experiment.algorithm_options, context));
  std::vector<std::string> names;
  for (const NetworkNeed& network : plan.networks) {
    if (network.acts) {
      names.push_back(network.name);
    }
  }
  for (const ScalarNeed& scalar : plan.scalars) {
    if (scalar.acts) {
      names.push_back(scalar.name);
    }
  }
  return names;
}

struct Wanted {
  std::string network;
  ArraySpec spec;
  bool is_statistic = false;  // A normaliser's.

  std::string FullName() const { return network == spec.name ? network : absl::StrCat(network, ".", spec.name); }
};

std::vector<Wanted> WantedBy(const ExperimentPlan& plan) {
  std::vector<Wanted> wanted;
  for (const NetworkPlan& network : plan.networks) {
    std::set<int64_t> statistics;
    for (const NormalizerPlan& normalizer : network.normalizers) {
      statistics.insert({normalizer.mean, normalizer.deviation});
    }
    for (size_t i = 0; i < network.parameters.size(); ++i) {
      wanted.push_back({network.name, network.parameters[i], statistics.count(static_cast<int64_t>(i)) > 0});
    }
  }
  for (const ScalarNeed& scalar : plan.algorithm.scalars) {
    wanted.push_back({scalar.name, {scalar.name, DType::kFloat32, {}}});
  }
  return wanted;
}

// The source's name for this run's parameter; empty if the map leaves it out.
std::string SourceOf(const std::string& name, const std::map<std::string, std::string>& map) {
  const std::pair<const std::string, std::string>* longest = nullptr;
  for (const auto& entry : map) {
    if (BeginsWith(name, entry.first) && (longest == nullptr || entry.first.size() > longest->first.size())) {
      longest = &entry;
    }
  }
  if (map.empty()) {
    return name;
  }
  return longest == nullptr ? "" : absl::StrCat(longest->second, name.substr(longest->first.size()));
}

// The networks of `names`, or a part, "q.heads.q", of a network that has other parameters in `all`. Each of `names` is
// one of `all`.
std::vector<std::string> Summary(const std::vector<std::string>& names, const std::vector<std::string>& all) {
  const auto count = [](const std::vector<std::string>& list, const std::string& network) {
    return std::count_if(list.begin(), list.end(), [&](const std::string& name) { return NetworkOf(name) == network; });
  };
  std::vector<std::string> parts;
  for (const std::string& name : names) {
    const std::string network = NetworkOf(name);
    const std::vector<std::string> words = absl::StrSplit(name, '.');
    const std::string part =
        count(names, network) == count(all, network)
            ? network
            : absl::StrJoin(words.begin(), words.begin() + std::min<int64_t>(3, words.size()), ".");
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
      parts.push_back(part);
    }
  }
  return parts;
}

absl::Status CheckPrefixes(const std::map<std::string, std::string>& map, const std::vector<std::string>& own,
                           const std::vector<std::string>& sources, const std::string& folder) {
  const auto check = [](const std::string& prefix, const std::vector<std::string>& names, const std::string& whose) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return BeginsWith(name, prefix); })
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(kMap, ": got ", prefix, ", with which no parameter of ", whose,
                                                         " begins; wanted ", absl::StrJoin(Summary(names, names), ", "),
                                                         ", or a part of one"));
  };
  for (const auto& [prefix, source] : map) {
    WAGGLE_RETURN_IF_ERROR(check(prefix, own, "this run"));
    WAGGLE_RETURN_IF_ERROR(check(source, sources, folder));
  }
  return absl::OkStatus();
}

// `wanted` and `got` have full names.
absl::Status CheckArray(const ArraySpec& wanted, const ArraySpec& got, const ByteSlices& data,
                        const std::string& folder) {
  if (got.shape != wanted.shape || got.dtype != wanted.dtype || data.size() != static_cast<size_t>(wanted.NumBytes())) {
    return absl::InvalidArgumentError(absl::StrCat(kMap, ": got ", got.DebugString(), " of ", folder, "; wanted ",
                                                   wanted.DebugString(), ", or a map that leaves it out"));
  }
  if (FindNonFinite(got.dtype, InOneRun(data).get(), got.NumElements()) >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(kFrom, ": got ", got.name, " of ", folder, ", which is not finite; wanted finite numbers"));
  }
  return absl::OkStatus();
}

std::vector<std::string> NamesOf(const SavedParameters& parameters) {
  std::vector<std::string> names;
  for (const auto& [name, array] : parameters) {
    names.push_back(name);
  }
  return names;
}

absl::StatusOr<SavedParameters> ReadSource(const SavedWeights& saved, const EnvironmentSpec& environment,
                                           const AlgorithmDefinitions& algorithms) {
  if (saved.learner.has_value()) {
    return ParametersOf(saved, {});
  }
  const absl::StatusOr<std::vector<std::string>> published = Published(saved.experiment_yaml, environment, algorithms);
  WAGGLE_RETURN_IF_ERROR(Annotate(published.status(), absl::StrCat(kFrom, ": ", saved.folder)));
  return ParametersOf(saved, *published);
}

}  // namespace

absl::StatusOr<InitialWeights> FindInitialWeights(const InitOptions& init, const ExperimentPlan& plan,
                                                  const EnvironmentSpec& environment,
                                                  const AlgorithmDefinitions& algorithms) {
  const absl::StatusOr<SavedWeights> saved = LoadSavedNetworks(init.from);
  WAGGLE_RETURN_IF_ERROR(Annotate(saved.status(), kFrom));
  WAGGLE_ASSIGN_OR_RETURN(const SavedParameters source, ReadSource(*saved, environment, algorithms));
  const std::vector<Wanted> wanted = WantedBy(plan);
  std::vector<std::string> own;
  for (const Wanted& parameter : wanted) {
    own.push_back(parameter.FullName());
  }
  WAGGLE_RETURN_IF_ERROR(CheckPrefixes(init.map, own, NamesOf(source), saved->folder));

  InitialWeights found;
  found.folder = saved->folder;
  std::map<std::string, std::string> source_networks;  // By this run's, to find the normalisers' statistics.
  for (const Wanted& parameter : wanted) {
    const std::string from = SourceOf(parameter.FullName(), init.map);
    if (!parameter.is_statistic && source.count(from) > 0) {
      source_networks.try_emplace(parameter.network, NetworkOf(from));
    }
  }
  std::vector<std::string> anew;
  std::set<std::string> used;
  for (const Wanted& parameter : wanted) {
    const std::string name = parameter.FullName();
    std::string from = SourceOf(name, init.map);
    const auto network = source_networks.find(parameter.network);
    if (from.empty() && parameter.is_statistic && network != source_networks.end()) {
      from = absl::StrCat(network->second, ".", parameter.spec.name);
    }
    const auto array = source.find(from);
    if (array == source.end()) {
      anew.push_back(name);
      continue;
    }
    const ArraySpec& got = array->second.spec;
    WAGGLE_RETURN_IF_ERROR(CheckArray({name, parameter.spec.dtype, parameter.spec.shape}, {from, got.dtype, got.shape},
                                      array->second.data, saved->folder));
    used.insert(from);
    found.parameters.push_back({parameter.network, parameter.spec.name, array->second});
  }
  if (found.parameters.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        kFrom, ": got ", saved->folder, ", which has ", absl::StrJoin(Summary(NamesOf(source), NamesOf(source)), ", "),
        "; wanted one of ", absl::StrJoin(Summary(own, own), ", "), ", or a map"));
  }
  std::vector<std::string> left = NamesOf(source);
  left.erase(std::remove_if(left.begin(), left.end(), [&used](const auto& name) { return used.count(name) > 0; }),
             left.end());
  found.anew = Summary(anew, own);
  found.left = Summary(left, NamesOf(source));
  return found;
}

}  // namespace waggle
