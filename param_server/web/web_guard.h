#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/net/http/http_server.h"

namespace waggle {

// "127.0.0.1", "::1" or "::ffff:127.0.0.1".
bool IsLoopbackAddress(absl::string_view address);
// True for a Host header, or the host of an Origin, that names this machine: "localhost:8080", "127.0.0.1", "[::1]:80".
bool IsLoopbackHost(absl::string_view host);

// PERMISSION_DENIED unless a request that changes something comes by TLS, so that the HTTP server has let its caller
// in, or from a user of this machine: directly, from its loopback address, to a loopback name, and if a page has sent
// it from a page of this server. The last two keep pages of other sites out, also those whose name has been made to
// point here.
absl::Status CheckMayChange(const HttpRequest& request);

}  // namespace waggle
