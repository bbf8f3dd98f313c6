#include "param_server/pool/quotas.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

constexpr double kMostOfEach = 1e6;
constexpr double kMostWeight = 1e6;

// "3 of 4 learners are in use, and it needs 2". Empty if they fit, or there is no bound.
std::string Excess(const std::optional<int64_t>& most, int64_t used, int64_t more, const char* what) {
  if (!most.has_value() || used + more <= *most) {
    return "";
  }
  return absl::StrCat(used, " of ", *most, " ", what, " are in use, and it needs ", more);
}

}  // namespace

void Quota::Visit(ConfigVisitor& visitor) {
  visitor.OptionalInt("experiments", &experiments, In(0, kMostOfEach));
  visitor.OptionalInt("learners", &learners, In(0, kMostOfEach));
  visitor.OptionalInt("actors", &actors, In(0, kMostOfEach));
}

void OwnerQuota::Visit(ConfigVisitor& visitor) {
  quota.Visit(visitor);
  visitor.Double("weight", &weight, Above(0, kMostWeight));
}

void Quotas::Visit(ConfigVisitor& visitor) {
  visitor.Section("default", &of_each);
  visitor.Map("owners", &owners);
  visitor.Map("tags", &tags);
}

double Quotas::WeightOf(const std::string& owner) const {
  const auto named = owners.find(owner);
  return named == owners.end() ? of_each.weight : named->second.weight;
}

bool Quotas::Bound::Covers(const RunNeeds& needs) const {
  return is_tag ? std::find(needs.tags.begin(), needs.tags.end(), name) != needs.tags.end() : needs.owner == name;
}

std::string Quotas::Bound::DebugString() const {
  return is_tag ? absl::StrCat("the quota of tag ", absl::CHexEscape(name))
                : absl::StrCat("the quota of ", name.empty() ? "experiments without an owner" : "owner ",
                               absl::CHexEscape(name));
}

std::vector<Quotas::Bound> Quotas::BoundsOn(const RunNeeds& needs) const {
  const auto named = owners.find(needs.owner);
  std::vector<Bound> bounds = {{false, needs.owner, named == owners.end() ? of_each.quota : named->second.quota}};
  for (const auto& [tag, quota] : tags) {
    if (Bound bound = {true, tag, quota}; bound.Covers(needs)) {
      bounds.push_back(std::move(bound));
    }
  }
  return bounds;
}

bool Quotas::BoundActors(const RunNeeds& needs) const {
  const std::vector<Bound> bounds = BoundsOn(needs);
  return std::any_of(bounds.begin(), bounds.end(), [](const Bound& bound) { return bound.quota.actors.has_value(); });
}

absl::StatusOr<Quotas> LoadQuotas(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadYamlFile(path));
  WAGGLE_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, path));
  ConfigErrors errors;
  Quotas quotas;
  {
    // The default first, by itself, so that owners can begin with it.
    ConfigErrors ignored;
    ConfigReader reader(root, &ignored);
    reader.Section("default", &quotas.of_each);
    if (const YamlEntry* const named = root.Find("owners"); named != nullptr) {
      for (const auto& entry : named->value.entries) {
        quotas.owners[entry.key] = quotas.of_each;
      }
    }
  }
  ConfigReader reader(root, &errors);
  quotas.Visit(reader);
  reader.Finish();
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  return quotas;
}

QuotaBook::Use QuotaBook::LeastOf(const RunNeeds& needs) {
  Use use;
  use.experiments = 1;
  for (const SeatGroup& group : needs.groups) {
    use.learners += group.role == Role::kLearner ? group.least : 0;
    use.actors += group.role == Role::kActor ? group.least : 0;
  }
  return use;
}

QuotaBook::Use QuotaBook::UseOf(const Quotas::Bound& bound) const {
  const auto use = uses_.find({bound.is_tag, bound.name});
  return use == uses_.end() ? Use() : use->second;
}

void QuotaBook::Add(const RunNeeds& needs, int64_t actors) {
  const Use least = LeastOf(needs);
  for (const Quotas::Bound& bound : quotas_->BoundsOn(needs)) {
    Use& use = uses_[{bound.is_tag, bound.name}];
    ++use.experiments;
    use.learners += least.learners;
    use.actors += std::max(least.actors, actors);
  }
}

std::string QuotaBook::Hindrance(const RunNeeds& needs) const {
  const Use least = LeastOf(needs);
  for (const Quotas::Bound& bound : quotas_->BoundsOn(needs)) {
    const Use use = UseOf(bound);
    std::string excess;
    if (bound.quota.experiments.has_value() && use.experiments >= *bound.quota.experiments) {
      excess = absl::StrCat(use.experiments, " of ", *bound.quota.experiments, " running experiments are in use");
    }
    excess = excess.empty() ? Excess(bound.quota.learners, use.learners, least.learners, "learners") : excess;
    excess = excess.empty() ? Excess(bound.quota.actors, use.actors, least.actors, "actors") : excess;
    if (!excess.empty()) {
      return absl::StrCat("waits for ", bound.DebugString(), ": ", excess);
    }
  }
  return "";
}

std::vector<std::string> QuotaBook::Impossible(const RunNeeds& needs) const {
  const Use least = LeastOf(needs);
  std::vector<std::string> problems;
  for (const Quotas::Bound& bound : quotas_->BoundsOn(needs)) {
    const auto check = [&](const std::optional<int64_t>& most, int64_t needed, const char* key, const char* what) {
      if (most.has_value() && needed > *most) {
        problems.push_back(
            absl::StrCat(key, ": needs ", needed, " ", what, ", and ", bound.DebugString(), " allows ", *most));
      }
    };
    check(bound.quota.experiments, 1, "owner and tags", "running experiment");
    check(bound.quota.learners, least.learners, "learner.processes", least.learners == 1 ? "learner" : "learners");
    check(bound.quota.actors, least.actors, "actor.processes", least.actors == 1 ? "actor" : "actors");
  }
  return problems;
}

std::optional<int64_t> QuotaBook::MostActors(const RunNeeds& needs) const {
  std::optional<int64_t> most;
  for (const Quotas::Bound& bound : quotas_->BoundsOn(needs)) {
    if (bound.quota.actors.has_value()) {
      const int64_t left = std::max<int64_t>(0, *bound.quota.actors - UseOf(bound).actors);
      most = most.has_value() ? std::min(*most, left) : left;
    }
  }
  return most;
}

}  // namespace waggle
