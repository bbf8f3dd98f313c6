#pragma once

#include "absl/time/time.h"

namespace waggle {

// A side pings the other after `period` without data, and closes the connection without an answer within `timeout`.
struct Keepalive {
  absl::Duration period;
  absl::Duration timeout;
};

// Clients notice a dead server within 30 s. Servers can wait, and notice a dead client within 90 s.
inline constexpr Keepalive kClientKeepalive = {absl::Seconds(20), absl::Seconds(10)};
inline constexpr Keepalive kServerKeepalive = {absl::Seconds(60), absl::Seconds(20)};

}  // namespace waggle
