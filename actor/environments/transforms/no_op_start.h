#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "actor/environments/transforms/inner_steps.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `no_op_start`.
struct NoOpStartSettings {
  int64_t max = 30;

  void Visit(ConfigVisitor& visitor) { visitor.Int("max", &max, In(1, 1000)); }
  absl::Status Validate() const { return absl::OkStatus(); }
};

// An episode begins after some steps in which the environment takes choice 0, or no, of every action: 1 to `max` of
// them, uniform. Their rewards are dropped. If the episode ends meanwhile, it begins anew and the remaining steps
// follow. A mask that forbids these choices ends the steps.
class NoOpStart : public InnerSteps {
 public:
  using Settings = NoOpStartSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  NoOpStart(const Settings& settings, TransformParts parts);

  absl::Status Reset() override;

 private:
  Next Take(const ReadyLanes& ready, size_t row) override;

  const int64_t max_;
  std::vector<Rng> rngs_;      // By lane, as all below.
  std::vector<int64_t> left_;  // Steps before the episode begins.
  std::vector<uint8_t> is_beginning_;
};

}  // namespace waggle
