#pragma once

#include "absl/time/time.h"

namespace waggle {

// One end of a connection asks the other for a sign of life after `period` without one. It gives up the connection if
// none comes within `timeout`.
struct Keepalive {
  absl::Duration period;
  absl::Duration timeout;
};

// A client notices a dead server within half a minute. A server loses nothing by waiting, and notices a dead client
// within one and a half.
inline constexpr Keepalive kClientKeepalive = {absl::Seconds(20), absl::Seconds(10)};
inline constexpr Keepalive kServerKeepalive = {absl::Seconds(60), absl::Seconds(20)};

}  // namespace waggle
