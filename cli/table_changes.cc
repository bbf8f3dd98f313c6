#include "cli/table_changes.h"

#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

constexpr int64_t kAnyInt = std::numeric_limits<int64_t>::max();
constexpr double kAny = std::numeric_limits<double>::max();

// What can be changed of a table, as the keys of a configuration; TableConfig::Validate has the last word on ranges.
struct ChangeableLimiter {
  RateLimiterConfig* limiter = nullptr;
  void Visit(ConfigVisitor& visitor) {
    visitor.Double("samples_per_insert", &limiter->samples_per_insert, 0, kAny);
    visitor.Int("min_items", &limiter->min_items, 1, kAnyInt);
    visitor.Double("error_buffer", &limiter->error_buffer, 0, kAny);
    visitor.OptionalDouble("min_difference", &limiter->min_difference, -kAny, kAny);
    visitor.OptionalDouble("max_difference", &limiter->max_difference, -kAny, kAny);
  }
  static absl::Status Validate() { return absl::OkStatus(); }
};

struct ChangeableSampler {
  SamplerConfig* sampler = nullptr;
  void Visit(ConfigVisitor& visitor) {
    visitor.Double("priority_exponent", &sampler->priority_exponent, 0, kAny);
    visitor.Double("priority_epsilon", &sampler->priority_epsilon, 0, kAny);
    visitor.Double("uniform_share", &sampler->uniform_share, 0, 1);
    visitor.Double("recent_share", &sampler->recent_share, 0, 1);
    visitor.Int("recent_items", &sampler->recent_items, 1, kAnyInt);
    visitor.Double("recent_decay", &sampler->recent_decay, 0, 1);
    visitor.Int("recent_period", &sampler->recent_period, 1, kAnyInt);
  }
  static absl::Status Validate() { return absl::OkStatus(); }
};

struct ChangeableRemover {
  RemoverConfig* remover = nullptr;
  void Visit(ConfigVisitor& visitor) { visitor.Double("priority_exponent", &remover->priority_exponent, 0, kAny); }
  static absl::Status Validate() { return absl::OkStatus(); }
};

void Visit(TableConfig* config, ConfigVisitor* visitor) {
  ChangeableLimiter limiter{&config->rate_limiter};
  ChangeableSampler sampler{&config->sampler};
  ChangeableRemover remover{&config->remover};
  visitor->Section("rate_limiter", &limiter);
  visitor->Section("sampler", &sampler);
  visitor->Section("remover", &remover);
  visitor->Int("max_items", &config->max_items, 1, kAnyInt);
  visitor->Int("max_bytes", &config->max_bytes, 1, kAnyInt);
  visitor->Int("max_times_sampled", &config->max_times_sampled, 0, kAnyInt);
  visitor->Int("memory_limit", &config->memory_limit, 0, kAnyInt);
}

bool IsFixed(const std::string& key) {
  for (const char* const fixed :
       {"name", "signature", "view", "max_window", "seed", "compression", "durability", "log_sync", "sampler.kind",
        "sampler.absolute_priorities", "sampler.without_replacement", "sampler.independent_draws", "remover.kind"}) {
    if (key == fixed || absl::StartsWith(key, absl::StrCat(fixed, "."))) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<TableConfig> WithChanges(const TableConfig& config,
                                        const std::vector<std::pair<std::string, std::string>>& changes) {
  ConfigErrors errors;
  std::vector<std::pair<std::string, std::string>> overrides;
  for (const auto& [key, value] : changes) {
    if (IsFixed(key)) {
      errors.Add({absl::StrCat(key, "=", value), 0}, key, "cannot be changed while the table is in use");
    } else {
      overrides.emplace_back(key, value);
    }
  }
  YamlNode root;
  root.kind = YamlNode::Kind::kMapping;
  ApplyOverrides(overrides, &root, &errors);
  TableConfig changed = config;
  ConfigReader reader(root, &errors);
  Visit(&changed, &reader);
  reader.Finish();
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  WAGGLE_RETURN_IF_ERROR(Annotate(changed.Validate(), absl::StrCat("table \"", config.name, "\" would be wrong")));
  return changed;
}

}  // namespace waggle
