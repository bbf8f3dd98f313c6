#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/hub/ports/gradients.h"

namespace waggle {

// The results of each worker's gradients, so that a repeated gradient is not applied twice. Keeps, for each life of a
// worker, the results that the worker has not acknowledged, at most kMaxGradientsAhead. Not thread-safe.
class SettledGradients {
 public:
  // Keeps at most `max_lives`; another one replaces the life that was heard the longest ago.
  explicit SettledGradients(size_t max_lives = 10'000) : max_lives_(max_lives) {}

  // Takes a member's acknowledgement of its worker's other gradients. INVALID_ARGUMENT for an impossible sequence.
  absl::Status Hear(const GradientMember& member);

  // The gradient's result; absent if it is new. An acknowledged gradient's is applied, without a version: its worker
  // does not need the answer.
  std::optional<GradientResult> Find(const GradientMember& member) const;

  // The member must have been heard, and must be new.
  void Settle(const GradientMember& member, GradientResult result);

  // Gradients that workers know as applied, but that were applied after the restored checkpoint, so that the weights
  // lack them. Counted when their worker is heard.
  int64_t rolled_back() const { return rolled_back_; }

  // For checkpoints: one line a life, without the messages of refusals.
  std::string ToText() const;
  // DATA_LOSS for a malformed text.
  static absl::StatusOr<SettledGradients> FromText(absl::string_view text, size_t max_lives = 10'000);

 private:
  struct Life {
    uint64_t acknowledged = 0;
    uint64_t applied = 0;                        // Up to `acknowledged`.
    std::map<uint64_t, GradientResult> results;  // By sequence, above `acknowledged`.
    uint64_t heard = 0;                          // The order in which lives were heard.
  };
  using Key = std::pair<std::string, uint64_t>;

  Life& LifeOf(const GradientMember& member);

  size_t max_lives_;
  std::map<Key, Life> lives_;
  uint64_t heard_ = 0;
  int64_t rolled_back_ = 0;
};

}  // namespace waggle
