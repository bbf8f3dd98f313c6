#include "common/experiment/table_fields.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/config/config_keys.h"
#include "common/experiment/visit_name.h"

namespace waggle {
namespace {

constexpr int64_t kAnyInt = std::numeric_limits<int64_t>::max();
constexpr double kAny = std::numeric_limits<double>::infinity();

void VisitKind(SelectorKind* kind, ConfigVisitor* visitor) {
  VisitName("kind", kind,
            {SelectorKind::kUniform, SelectorKind::kPrioritized, SelectorKind::kFifo, SelectorKind::kLifo,
             SelectorKind::kMinHeap, SelectorKind::kMaxHeap},
            visitor);
}

// A part of the configuration as a section of its own. Relations between its values are checked in the whole.
template <class Part>
struct Fields {
  Part* part = nullptr;
  bool all = false;
  void Visit(ConfigVisitor& visitor);
  static absl::Status Validate() { return absl::OkStatus(); }
};

template <>
void Fields<SamplerConfig>::Visit(ConfigVisitor& visitor) {
  if (all) {
    VisitKind(&part->kind, &visitor);
  }
  const bool prioritized = part->kind == SelectorKind::kPrioritized;
  const std::string to_kind = absl::StrCat("means nothing to the sampler ", Name(part->kind), "; wanted kind: ");
  const auto by_priority = [&](const char* key) {
    return visitor.Applies(key, prioritized, absl::StrCat(to_kind, "prioritized, or none"));
  };
  if (by_priority("priority_exponent")) {
    visitor.Double("priority_exponent", &part->priority_exponent, In(0, kAny));
  }
  if (by_priority("priority_epsilon")) {
    visitor.Double("priority_epsilon", &part->priority_epsilon, In(0, kAny));
  }
  if (all) {
    visitor.Bool("absolute_priorities", &part->absolute_priorities);
    visitor.Bool("without_replacement", &part->without_replacement);
    if (by_priority("independent_draws")) {
      visitor.Bool("independent_draws", &part->independent_draws);
    }
  }
  if (by_priority("uniform_share")) {
    visitor.Double("uniform_share", &part->uniform_share, In(0, 1));
  }
  if (visitor.Applies("recent_share", prioritized || part->kind == SelectorKind::kUniform,
                      absl::StrCat(to_kind, "uniform or prioritized, or none"))) {
    visitor.Double("recent_share", &part->recent_share, In(0, 1));
  }
  const auto of_recent = [&](const char* key) {
    return visitor.Applies(key, part->recent_share > 0,
                           "means nothing while recent_share is 0; wanted a recent_share, or none");
  };
  if (of_recent("recent_items")) {
    visitor.Int("recent_items", &part->recent_items, In(1, kAnyInt));
  }
  if (of_recent("recent_decay")) {
    visitor.Double("recent_decay", &part->recent_decay, In(0, 1));
  }
  if (of_recent("recent_period")) {
    visitor.Int("recent_period", &part->recent_period, In(1, kAnyInt));
  }
}

template <>
void Fields<RemoverConfig>::Visit(ConfigVisitor& visitor) {
  if (all) {
    VisitKind(&part->kind, &visitor);
  }
  if (visitor.Applies(
          "priority_exponent", part->kind == SelectorKind::kPrioritized,
          absl::StrCat("means nothing to the remover ", Name(part->kind), "; wanted kind: prioritized, or none"))) {
    visitor.Double("priority_exponent", &part->priority_exponent, In(0, kAny));
  }
}

template <>
void Fields<RateLimiterConfig>::Visit(ConfigVisitor& visitor) {
  visitor.Double("samples_per_insert", &part->samples_per_insert, In(0, kAny));
  visitor.Int("min_items", &part->min_items, In(1, kAnyInt));
  if (visitor.Applies("error_buffer", part->samples_per_insert > 0,
                      "means nothing while samples_per_insert is 0; wanted none, or a samples_per_insert")) {
    visitor.Double("error_buffer", &part->error_buffer, In(0, kAny));
  }
  visitor.OptionalDouble("min_difference", &part->min_difference, In(-kAny, kAny));
  visitor.OptionalDouble("max_difference", &part->max_difference, In(-kAny, kAny));
}

// An element of `compression`.
struct CompressionFields {
  ColumnCompression compression;
  void Visit(ConfigVisitor& visitor) {
    visitor.String("column", &compression.column);
    VisitName("codec", &compression.codec, {Codec::kLz4, Codec::kZstd}, &visitor);
  }
  absl::Status Validate() const {
    return compression.column.empty() ? absl::InvalidArgumentError("column: is missing; wanted a column's name")
                                      : absl::OkStatus();
  }
};

void VisitCompression(std::vector<ColumnCompression>* compression, ConfigVisitor* visitor) {
  std::vector<CompressionFields> list;
  for (const ColumnCompression& column : *compression) {
    list.push_back({column});
  }
  visitor->List("compression", &list);
  compression->clear();
  for (const CompressionFields& element : list) {
    compression->push_back(element.compression);
  }
}

std::vector<std::string> KeysOf(TableFieldSet set) {
  TableConfig config;
  ConfigKeys keys;
  VisitTableFields(&config, set, &keys);
  return keys.paths();
}

}  // namespace

void VisitTableFields(TableConfig* config, TableFieldSet set, ConfigVisitor* visitor) {
  const bool all = set == TableFieldSet::kAll;
  visitor->Int("max_items", &config->max_items, In(1, kAnyInt));
  visitor->Int("max_bytes", &config->max_bytes, In(1, kAnyInt));
  visitor->Int("max_times_sampled", &config->max_times_sampled, In(0, kAnyInt));
  Fields<SamplerConfig> sampler{&config->sampler, all};
  Fields<RemoverConfig> remover{&config->remover, all};
  Fields<RateLimiterConfig> rate_limiter{&config->rate_limiter, all};
  visitor->Section("sampler", &sampler);
  visitor->Section("remover", &remover);
  visitor->Section("rate_limiter", &rate_limiter);
  if (all) {
    VisitCompression(&config->compression, visitor);
    VisitName("durability", &config->durability, {Durability::kNone, Durability::kCheckpoint, Durability::kLog},
              visitor);
    if (visitor->Applies(
            "log_sync", config->durability == Durability::kLog,
            absl::StrCat("means nothing with durability ", Name(config->durability), "; wanted log, or none"))) {
      visitor->Bool("log_sync", &config->log_sync);
    }
  }
  visitor->Int("memory_limit", &config->memory_limit, In(0, kAnyInt));
}

std::vector<std::string> FixedTableKeys() {
  std::vector<std::string> fixed = {"name", "signature", "view", "max_window", "transition_rows", "seed"};
  const std::vector<std::string> changeable = KeysOf(TableFieldSet::kChangeable);
  for (std::string& key : KeysOf(TableFieldSet::kAll)) {
    if (std::find(changeable.begin(), changeable.end(), key) == changeable.end()) {
      fixed.push_back(std::move(key));
    }
  }
  return fixed;
}

}  // namespace waggle
