#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/config_visitor.h"
#include "param_server/pool/run_needs.h"

// Quotas of owners and tags, which bound what their experiments use of a pool at a time. Pure logic over given numbers.

namespace waggle {

// The most at a time; absent: no bound.
struct Quota {
  std::optional<int64_t> experiments;  // Running ones.
  std::optional<int64_t> learners;
  std::optional<int64_t> actors;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

struct OwnerQuota {
  Quota quota;
  // An owner's fair share of the pool, relative to others: see FairQueue.
  double weight = 1;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

struct Quotas {
  OwnerQuota of_each;                        // `default`: for owners that are not named.
  std::map<std::string, OwnerQuota> owners;  // By name. Values that are not given come from `default`.
  std::map<std::string, Quota> tags;         // For all experiments with the tag together.

  void Visit(ConfigVisitor& visitor);

  double WeightOf(const std::string& owner) const;

  // A bound that covers some experiments.
  struct Bound {
    bool is_tag = false;
    std::string name;  // The owner's or the tag's.
    Quota quota;

    bool Covers(const RunNeeds& needs) const;
    std::string DebugString() const;  // "the quota of owner ada".
  };
  // True if a quota bounds the experiment's actors.
  bool BoundActors(const RunNeeds& needs) const;
  // The bounds that cover an experiment.
  std::vector<Bound> BoundsOn(const RunNeeds& needs) const;
};

// Reads a YAML file: {default: {experiments: 4}, owners: {ada: {learners: 8, weight: 2}}, tags: {gpu: {actors: 9}}}.
// INVALID_ARGUMENT, with all problems, one a line; another error if it cannot be read.
absl::StatusOr<Quotas> LoadQuotas(const std::string& path);

// Counts what running experiments use of the quotas. Not thread-safe.
class QuotaBook {
 public:
  // `quotas` outlives this.
  explicit QuotaBook(const Quotas* quotas) : quotas_(quotas) {}

  // An experiment runs with the least of its workers, or with `actors` if that is more.
  void Add(const RunNeeds& needs, int64_t actors = 0);
  // Why the experiment cannot begin beside those that were added, in words; empty if it can.
  std::string Hindrance(const RunNeeds& needs) const;
  // Why it cannot even begin alone, a sentence each with the setting first; empty if it can.
  std::vector<std::string> Impossible(const RunNeeds& needs) const;
  // The most actors that it may have beside those that were added; absent: no bound.
  std::optional<int64_t> MostActors(const RunNeeds& needs) const;

 private:
  struct Use {
    int64_t experiments = 0;
    int64_t learners = 0;
    int64_t actors = 0;
  };
  static Use LeastOf(const RunNeeds& needs);
  Use UseOf(const Quotas::Bound& bound) const;

  const Quotas* const quotas_;
  std::map<std::pair<bool, std::string>, Use> uses_;  // By Bound::is_tag and name.
};

}  // namespace waggle
