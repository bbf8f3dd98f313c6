#include "common/plan/importance_exponent.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an importance exponent is for samplers that draw by priority", "[unit]") {
  SamplerConfig sampler;
  sampler.kind = SelectorKind::kPrioritized;
  REQUIRE_OK(CheckImportanceExponent(0.5, AnnealedImportance(), sampler));
  sampler.recent_share = 0.5;
  REQUIRE_OK(CheckImportanceExponent(0.5, AnnealedImportance(), sampler));
  for (const SelectorKind kind : {SelectorKind::kUniform, SelectorKind::kFifo, SelectorKind::kMaxHeap}) {
    sampler.kind = kind;
    REQUIRE_OK(CheckImportanceExponent(AnnealedImportance(), AnnealedImportance(), sampler));
    REQUIRE_OK(CheckImportanceExponent(0.6, 0.6, sampler));
    CHECK(CheckImportanceExponent(0.5, AnnealedImportance(), sampler) ==
          absl::InvalidArgumentError("algorithm.importance_exponent: means nothing to the sampler " +
                                     std::string(Name(kind)) + "; wanted none, or replay.sampler.kind: prioritized"));
  }
}

}  // namespace
}  // namespace waggle
