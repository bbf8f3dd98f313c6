#pragma once

#include "absl/time/time.h"

namespace waggle {

// When one end of a connection gives up the other one, which has fallen silent: it asks for a sign of life after
// `period` without one, and waits for it for `timeout`.
struct Keepalive {
  absl::Duration period;
  absl::Duration timeout;
};

// A client notices within half a minute; a server, which loses nothing by waiting, within one and a half.
inline constexpr Keepalive kClientKeepalive = {absl::Seconds(20), absl::Seconds(10)};
inline constexpr Keepalive kServerKeepalive = {absl::Seconds(60), absl::Seconds(20)};

}  // namespace waggle
