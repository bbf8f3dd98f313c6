#include "common/net/local_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/retry.h"

namespace waggle {

absl::StatusOr<std::string> LocalAddressTowards(const std::string& host_port) {
  const size_t colon = host_port.rfind(':');
  std::string host = host_port.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), host_port.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(host_port, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, &freeaddrinfo);
  int failure = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int file = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own = {};
    socklen_t size = sizeof(own);
    char text[NI_MAXHOST] = {};
    const bool known =
        file >= 0 && connect(file, address->ai_addr, address->ai_addrlen) == 0 &&
        getsockname(file, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0;
    failure = errno;
    if (file >= 0) {
      close(file);
    }
    if (known) {
      return std::string(text);
    }
  }
  return absl::UnavailableError(absl::StrCat("no way to ", host_port, ": ", std::strerror(failure)));
}

absl::StatusOr<std::string> ReachableAddress(const std::string& listening, const std::string& advertised,
                                             const std::string& peer, const StopToken& stop) {
  if (!advertised.empty()) {
    WAGGLE_RETURN_IF_ERROR(ValidateReachable(advertised));
    return advertised;
  }
  if (ValidateReachable(listening).ok()) {
    return listening;
  }
  Backoff backoff = NewReconnectBackoff();
  bool told = false;
  for (;;) {
    const absl::StatusOr<std::string> host = LocalAddressTowards(peer);
    if (host.ok()) {
      const bool bracketed = host->find(':') != std::string::npos;
      return absl::StrCat(bracketed ? "[" : "", *host, bracketed ? "]" : "", listening.substr(listening.rfind(':')));
    }
    if (!std::exchange(told, true)) {
      LogInfo("waiting for a way to ", peer, ": ", host.status().message());
    }
    if (stop.WaitFor(backoff.Next())) {
      return absl::CancelledError(absl::StrCat("stopped before there was a way to ", peer));
    }
  }
}

}  // namespace waggle
