#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "actor/environments/transforms/environment_transform.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `time_limit`.
struct TimeLimitSettings {
  int64_t steps = 0;  // Required.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// Truncates an episode after `steps` steps, unless it has ended by then.
class TimeLimit : public EnvironmentTransform {
 public:
  using Settings = TimeLimitSettings;
  static constexpr bool kStartsLanes = true;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  TimeLimit(const Settings& settings, TransformParts parts);

  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

 private:
  // Passes on the actions of `count` lanes from row `begin` on.
  absl::Status SendRun(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions, size_t begin,
                       size_t count);

  const int64_t steps_;
  std::vector<int64_t> steps_taken_;  // By lane, in the episode under way.
  std::vector<uint8_t> is_cut_;       // By lane: true if its last row ended the episode by this limit alone.
  std::array<std::vector<int32_t>, 2> step_types_;  // They alternate, as in ReadyRows.
  size_t current_ = 0;
  std::vector<const void*> run_;  // By action leaf.
};

}  // namespace waggle
