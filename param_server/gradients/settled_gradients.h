#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/api/gradients.h"

namespace waggle {

// What became of the gradients of each worker, so that none is applied twice however often it comes. Of a worker's life
// it keeps the results above what the worker has acknowledged, at most kMaxGradientsAhead of them. Pure logic; not
// thread-safe.
class SettledGradients {
 public:
  // Keeps so many lives; one more, and the one that was heard of the longest ago is forgotten.
  explicit SettledGradients(size_t max_lives = 10'000) : max_lives_(max_lives) {}

  // Takes what the member says of its worker's other gradients. INVALID_ARGUMENT for a sequence that cannot be.
  absl::Status Hear(const GradientMember& member);

  // What became of the gradient; nothing where it is new. One that its worker has acknowledged is answered as applied
  // without a version: nobody waits for that answer any more.
  std::optional<GradientResult> Find(const GradientMember& member) const;

  // The member was heard, and is new.
  void Settle(const GradientMember& member, GradientResult result);

  // Gradients whose workers know that they were applied, and which are not in the weights: they were applied after the
  // checkpoint that this state comes from. Counted when their worker is heard.
  int64_t rolled_back() const { return rolled_back_; }

  // For checkpoints: a line a life. The words of refusals are left out.
  std::string ToText() const;
  // DATA_LOSS for a text that is none.
  static absl::StatusOr<SettledGradients> FromText(absl::string_view text, size_t max_lives = 10'000);

 private:
  struct Life {
    uint64_t acknowledged = 0;
    uint64_t applied = 0;                        // Of those up to `acknowledged`.
    std::map<uint64_t, GradientResult> results;  // Of those above, by sequence.
    uint64_t heard = 0;                          // Larger for those heard later.
  };
  using Key = std::pair<std::string, uint64_t>;

  Life& LifeOf(const GradientMember& member);

  size_t max_lives_;
  std::map<Key, Life> lives_;
  uint64_t heard_ = 0;
  int64_t rolled_back_ = 0;
};

}  // namespace waggle
