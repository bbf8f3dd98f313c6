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
  // At most one refusal of each reason is logged in this time. Refusals of a stopping server are not logged.
  absl::Duration log_interval = absl::Seconds(30);
  // Called with the reason of each refusal; may be empty.
  std::function<void(absl::string_view reason)> on_refused;
};

// Counts a server's refusals by reason (replay_server/base/refusal_reasons.h). The reason tells broken clients from a
// busy or stopping server. Errors without a known reason count under their code's name, such as "data_loss".
// Thread-safe; no call blocks.
class Refusals {
 public:
  explicit Refusals(RefusalsOptions options = {}) : options_(std::move(options)) {}

  // Counts an error that ends a call of `method` by `peer`. Ignores OK.
  void Count(const absl::Status& status, absl::string_view method, absl::string_view peer);

  // By name, without zeros.
  std::map<std::string, uint64_t> counts() const;

 private:
  struct Reason {
    // Atomic: counted without a lock.
    std::atomic<uint64_t> count{0};
    std::atomic<int64_t> logged_ns{0};  // Time of the last log line, on the steady clock; 0 if never.
  };
  static constexpr size_t kReasons = std::size(reasons::kAll);
  static constexpr size_t kCodes = 17;  // Status codes, which follow the reasons.

  static size_t IndexOf(const absl::Status& status);
  static std::string NameOf(size_t index);
  bool MayLog(Reason* reason) const;

  const RefusalsOptions options_;
  std::array<Reason, kReasons + kCodes> refused_;
};

}  // namespace waggle
