#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "actor/environments/leaf_arrays.h"
#include "actor/environments/transforms/environment_transform.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The bounds of a reward, each of which may be absent.
struct RewardClip {
  std::optional<double> min;
  std::optional<double> max;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// The settings of `reward`.
struct RewardSettings {
  double shift = 0;
  double scale = 1;
  RewardClip clip;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Every element of every reward becomes clip((reward + shift) * scale). The zeros of an episode's first row stay zeros,
// as it has no rewards.
class RewardTransform : public EnvironmentTransform {
 public:
  using Settings = RewardSettings;
  static constexpr bool kChangesRewards = true;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  RewardTransform(const Settings& settings, TransformParts parts);

  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

 private:
  void MapRewards(const ReadyLanes& ready, const float* from, size_t elements, float* to) const;

  const float shift_;
  const float scale_;
  const float min_;
  const float max_;
  LeafArrays rewards_;
  std::vector<const float*> pointers_;
  std::vector<double> raw_rewards_;  // By row.
};

}  // namespace waggle
