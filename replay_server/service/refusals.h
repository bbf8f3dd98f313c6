#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "replay_server/base/refusal_reasons.h"

namespace waggle {

struct RefusalsOptions {
  // One refusal of each reason is logged, with what was wrong, and no other for so long; that we are stopping is not.
  absl::Duration log_interval = absl::Seconds(30);
  // Called with the reason of each; may be empty.
  std::function<void(absl::string_view reason)> on_refused;
};

// Counts what a server refuses, by its reason (common/base/reason.h): a number out of nowhere says that some client is
// broken, and which way. Errors without a reason of the list count under their code's name, such as "data_loss".
// Thread-safe; no call blocks.
class Refusals {
 public:
  explicit Refusals(RefusalsOptions options = {}) : options_(std::move(options)) {}

  // An error that ends a call of `method` by `peer`. OK is none.
  void Count(const absl::Status& status, absl::string_view method, absl::string_view peer);

  // By name, without those that never came.
  std::map<std::string, uint64_t> counts() const;

 private:
  struct Reason {
    // Atomic: counted without a lock.
    std::atomic<uint64_t> count{0};
    std::atomic<int64_t> logged_ns{0};  // When one was last logged, on the steady clock; 0: never.
  };
  static constexpr size_t kReasons = std::size(reasons::kAll);
  static constexpr size_t kCodes = 17;  // After the reasons, in the order of their numbers.

  static size_t IndexOf(const absl::Status& status);
  static std::string NameOf(size_t index);
  bool MayLog(Reason* reason) const;

  const RefusalsOptions options_;
  std::array<Reason, kReasons + kCodes> refused_;
};

}  // namespace waggle
