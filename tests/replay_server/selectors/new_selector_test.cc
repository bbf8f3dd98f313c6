#include "replay_server/selectors/new_selector.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TableConfig Config(SelectorKind sampler, SelectorKind remover) {
  TableConfig config;
  config.sampler.kind = sampler;
  config.sampler.priority_exponent = 2;
  config.remover.kind = remover;
  config.max_items = 100;
  return config;
}

// The slot that it picks from slots 0, 1 and 2 with the priorities 5, 1 and 9.
uint32_t Pick(Selector* selector) {
  const double priorities[] = {5, 1, 9};
  for (uint32_t slot = 0; slot < 3; ++slot) {
    selector->Insert(slot, priorities[slot]);
  }
  Rng rng(1);
  Draw draw;
  selector->SampleBatch(&rng, absl::MakeSpan(&draw, 1));
  return draw.slot;
}

}  // namespace

TEST_CASE("every kind makes its selector, for sampling and for removing", "[unit]") {
  const std::vector<std::pair<SelectorKind, uint32_t>> cases = {
      {SelectorKind::kFifo, 0}, {SelectorKind::kLifo, 2}, {SelectorKind::kMinHeap, 1}, {SelectorKind::kMaxHeap, 2}};
  for (const auto& [kind, picked] : cases) {
    REQUIRE(Pick(NewSampler(Config(kind, SelectorKind::kFifo)).get()) == picked);
    REQUIRE(Pick(NewRemover(Config(SelectorKind::kUniform, kind)).get()) == picked);
  }
  const auto uniform = NewSampler(Config(SelectorKind::kUniform, SelectorKind::kFifo));
  Pick(uniform.get());
  REQUIRE(uniform->Sum() == 3);
  const auto prioritized = NewSampler(Config(SelectorKind::kPrioritized, SelectorKind::kFifo));
  Pick(prioritized.get());
  REQUIRE(prioritized->Sum() == 25 + 1 + 81);
  const auto remover = NewRemover(Config(SelectorKind::kUniform, SelectorKind::kPrioritized));
  Pick(remover.get());
  REQUIRE(remover->Sum() == 5 + 1 + 9);
}

TEST_CASE("a sampler that emphasizes the newest items has the weights of its kind", "[unit]") {
  TableConfig config = Config(SelectorKind::kPrioritized, SelectorKind::kFifo);
  config.sampler.recent_share = 1;
  config.sampler.recent_items = 1;
  const auto prioritized = NewSampler(config);
  REQUIRE(Pick(prioritized.get()) == 2);
  REQUIRE(prioritized->Sum() == 25 + 1 + 81);
  config.sampler.kind = SelectorKind::kUniform;
  const auto uniform = NewSampler(config);
  REQUIRE(Pick(uniform.get()) == 2);
  REQUIRE(uniform->Sum() == 3);
}

TEST_CASE("a priority is refused if the table cannot weigh it", "[unit]") {
  TableConfig config = Config(SelectorKind::kPrioritized, SelectorKind::kFifo);
  REQUIRE_OK(ValidatePriority(config, 3));
  REQUIRE_CODE(ValidatePriority(config, -3), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(ValidatePriority(config, 1e200), absl::StatusCode::kInvalidArgument);
  config.sampler.absolute_priorities = true;
  REQUIRE_OK(ValidatePriority(config, -3));
  REQUIRE_CODE(ValidatePriority(config, -1e200), absl::StatusCode::kInvalidArgument);
  config.sampler.kind = SelectorKind::kUniform;
  REQUIRE_OK(ValidatePriority(config, 1e200));
  config.remover.kind = SelectorKind::kPrioritized;
  config.remover.priority_exponent = 2;
  REQUIRE_CODE(ValidatePriority(config, 1e200), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("DrawProbability is the probability with which an item is drawn", "[unit]") {
  Rng rng(5);
  for (const SelectorKind kind : {SelectorKind::kUniform, SelectorKind::kPrioritized}) {
    for (const double share : {0.0, 0.25}) {
      TableConfig config;
      config.max_items = 10;
      config.sampler.kind = kind;
      config.sampler.priority_epsilon = 0.5;
      config.sampler.uniform_share = kind == SelectorKind::kPrioritized ? share : 0;
      const std::unique_ptr<Selector> selector = NewSampler(config);
      const double priorities[] = {0, 1, 2, 5};
      for (uint32_t slot = 0; slot < 4; ++slot) {
        selector->Insert(slot, priorities[slot]);
      }
      const double sum = selector->Sum();
      std::vector<Draw> draws(64);
      selector->SampleBatch(&rng, absl::MakeSpan(draws));
      for (const Draw& draw : draws) {
        CHECK(*DrawProbability(config, priorities[draw.slot], 4, sum) == Approx(draw.probability));
      }
    }
  }
  TableConfig config;
  CHECK_FALSE(DrawProbability(config, 1, 0, 0).has_value());
  config.sampler.kind = SelectorKind::kFifo;
  CHECK_FALSE(DrawProbability(config, 1, 4, 4).has_value());
  config.sampler.kind = SelectorKind::kPrioritized;
  CHECK(*DrawProbability(config, 0, 4, 0) == 0.25);
  config.sampler.recent_share = 0.5;
  CHECK_FALSE(DrawProbability(config, 1, 4, 4).has_value());
}

}  // namespace waggle
