#include "common/config/experiment/table_fields.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

TableConfig Read(const std::string& yaml) {
  TableConfig config;
  REQUIRE_OK(
      testing::ReadYaml(yaml, [&](ConfigReader& reader) { VisitTableFields(&config, TableFieldSet::kAll, &reader); }));
  return config;
}

// A configuration in which no field has its default.
const char kEveryField[] = R"(max_items: 5
max_bytes: 6
max_times_sampled: 7
sampler:
  kind: prioritized
  priority_exponent: 0.25
  priority_epsilon: 0.125
  absolute_priorities: true
  without_replacement: true
  independent_draws: true
  uniform_share: 0.5
  recent_share: 0.75
  recent_items: 8
  recent_decay: 0.875
  recent_period: 9
remover:
  kind: prioritized
  priority_exponent: 2
rate_limiter:
  samples_per_insert: 3
  min_items: 4
  error_buffer: 10
  min_difference: -11
  max_difference: 12
compression:
  - column: observation
    codec: zstd
  - column: reward
    codec: lz4
durability: log
log_sync: true
memory_limit: 13
)";

TEST_CASE("Every field of a table that users set is read, and printed unchanged", "[unit]") {
  TableConfig config = Read(kEveryField);
  CHECK(config.max_bytes == 6);
  CHECK(config.sampler.kind == SelectorKind::kPrioritized);
  CHECK(config.sampler.recent_period == 9);
  CHECK(config.remover.kind == SelectorKind::kPrioritized);
  CHECK(config.rate_limiter.min_difference == -11.0);
  REQUIRE(config.compression.size() == 2);
  CHECK(config.compression[0].column == "observation");
  CHECK(config.compression[0].codec == Codec::kZstd);
  CHECK(config.durability == Durability::kLog);
  ConfigWriter writer;
  VisitTableFields(&config, TableFieldSet::kAll, &writer);
  CHECK(writer.text() == kEveryField);
}

TEST_CASE("Every kind, codec and durability has its name", "[unit]") {
  for (const char* kind : {"uniform", "prioritized", "fifo", "lifo", "min_heap", "max_heap"}) {
    CHECK(Name(Read(std::string("sampler: {kind: ") + kind + "}\n").sampler.kind) == kind);
    CHECK(Name(Read(std::string("remover: {kind: ") + kind + "}\n").remover.kind) == kind);
  }
  for (const char* durability : {"none", "checkpoint", "log"}) {
    CHECK(Name(Read(std::string("durability: ") + durability + "\n").durability) == durability);
  }
}

TEST_CASE("The keys of fields that cannot be changed in use are known", "[unit]") {
  const std::vector<std::string> fixed = FixedTableKeys();
  for (const char* key : {"signature", "sampler.kind", "sampler.independent_draws", "compression", "log_sync"}) {
    CHECK(std::count(fixed.begin(), fixed.end(), key) == 1);
  }
  CHECK(std::count(fixed.begin(), fixed.end(), "max_items") == 0);
  CHECK(std::count(fixed.begin(), fixed.end(), "rate_limiter.min_items") == 0);
}

}  // namespace
}  // namespace waggle
