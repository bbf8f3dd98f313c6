#include "common/hub/ports/gradients.h"

#include <set>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a model of gradients counts its numbers and describes itself", "[unit]") {
  const GradientModel model = {0xAB, {{"actor", 3}, {"critic", 4}}};
  CHECK(model.NumElements() == 7);
  CHECK(model.DebugString() == "network 00000000000000ab, actor: 3, critic: 4");
  CHECK(model != GradientModel{0xAB, {{"actor", 7}}});
}

TEST_CASE("verdicts are counted as applied, or as refused and by their reason", "[unit]") {
  Metrics metrics;
  CountVerdict(GradientVerdict::kApplied, &metrics);
  CountVerdict(GradientVerdict::kStale, &metrics);
  CountVerdict(GradientVerdict::kStale, &metrics);
  CHECK(metrics.TakeSnapshot().counters == std::map<std::string, double>{{"gradients_applied", 1},
                                                                         {"gradients_refused", 2},
                                                                         {"gradients_refused_stale", 2}});
}

TEST_CASE("every verdict has its own name, and applied gradients do not count as refusals", "[unit]") {
  std::set<std::string> names;
  GradientCounts counts;
  counts.applied = 3;
  for (int i = 0; i <= static_cast<int>(GradientVerdict::kTrainingOver); ++i) {
    names.insert(GradientVerdictName(static_cast<GradientVerdict>(i)));
    if (i > 0) {
      counts.refused[static_cast<GradientVerdict>(i)] = 2;
    }
  }
  CHECK(names.size() == 7);
  CHECK(counts.Refused() == 12);
}

}  // namespace
}  // namespace waggle
