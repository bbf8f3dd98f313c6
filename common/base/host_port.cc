#include "common/base/host_port.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// Only digits: SimpleAtoi also takes signs and spaces.
bool IsPort(absl::string_view text, int smallest) {
  int port = -1;
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) && absl::SimpleAtoi(text, &port) &&
         port >= smallest && port <= 65535;
}

bool IsHost(absl::string_view host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  return !host.empty() && std::all_of(host.begin(), host.end(), [bracketed](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_' || (bracketed && (c == ':' || c == '%'));
  });
}

// True if a host is all zeros in any notation: "0.0.0.0", "0", "[::]", "[0:0::0]", "[::0.0.0.0]".
bool IsEveryAddress(absl::string_view host) {
  const bool bracketed = host.front() == '[';
  return host.find_first_not_of(bracketed ? "[]:.0" : ".0") == absl::string_view::npos;
}

}  // namespace

absl::Status ValidateHostPort(absl::string_view address, bool allow_port_zero) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || !IsHost(address.substr(0, colon)) ||
      !IsPort(address.substr(colon + 1), allow_port_zero ? 0 : 1)) {
    return absl::InvalidArgumentError(absl::StrCat("\"", absl::CHexEscape(address),
                                                   "\" is not an address: wanted HOST:PORT, such as 127.0.0.1:7000",
                                                   allow_port_zero ? " (port 0: any free one)" : ""));
  }
  return absl::OkStatus();
}

absl::Status ValidateReachable(absl::string_view address) {
  if (absl::Status status = ValidateHostPort(address); !status.ok()) {
    return status;
  }
  if (IsEveryAddress(address.substr(0, address.rfind(':')))) {
    return absl::InvalidArgumentError(absl::StrCat("\"", address,
                                                   "\" means every address of a machine; wanted one that others can "
                                                   "connect to, such as 10.0.0.2:7001"));
  }
  return absl::OkStatus();
}

}  // namespace waggle
