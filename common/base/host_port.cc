#include "common/base/host_port.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

bool IsHost(absl::string_view host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  return !host.empty() && std::all_of(host.begin(), host.end(), [bracketed](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_' || (bracketed && (c == ':' || c == '%'));
  });
}

}  // namespace

absl::Status ValidateHostPort(absl::string_view address, bool allow_port_zero) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == absl::string_view::npos || !IsHost(address.substr(0, colon)) ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < (allow_port_zero ? 0 : 1) || port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("\"", absl::CHexEscape(address),
                                                   "\" is not an address: wanted HOST:PORT, such as 127.0.0.1:7000",
                                                   allow_port_zero ? " (port 0: any free one)" : ""));
  }
  return absl::OkStatus();
}

}  // namespace waggle
