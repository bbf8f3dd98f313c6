#include "learner/group/local_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

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

}  // namespace waggle
