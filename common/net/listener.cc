#include "common/net/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"

namespace waggle {
namespace {

// The pause between two tries to accept after a resource, such as descriptors, ran out.
constexpr int kPauseMs = 100;
constexpr int kTriesForAPort = 20;
// The most accepts of one round, so that a stop is always seen soon.
constexpr int kMostAtATime = 1024;
constexpr absl::Duration kComplainInterval = absl::Seconds(30);

// The host of an address, in bytes. An IPv6 host is a whole network of 64 bits, because one machine has all of them.
std::string HostOf(const sockaddr_storage& address) {
  constexpr size_t kNetworkBytes = 8;
  if (address.ss_family == AF_INET6) {
    const in6_addr& host = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const auto* const bytes = reinterpret_cast<const char*>(&host);
    return IN6_IS_ADDR_V4MAPPED(&host) ? std::string(bytes + sizeof(host) - sizeof(in_addr), sizeof(in_addr))
                                       : std::string(bytes, kNetworkBytes);
  }
  const auto* const bytes = reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  return std::string(bytes, sizeof(in_addr));
}

std::string ErrorText(int error) {
  return std::strerror(error);
}

absl::Status CannotListen(const std::string& listen, int error) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", listen, ": ",
                                             error == EADDRINUSE ? "the port is taken: another process listens on it"
                                             : error == EADDRNOTAVAIL ? "the host is not one of this machine's"
                                             : error == EACCES        ? "this user may not listen on such a port"
                                                                      : ErrorText(error)));
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  bool operator==(const Address& other) const {
    return size == other.size && std::memcmp(&storage, &other.storage, size) == 0;
  }
};

// Both kinds of addresses have the port at the same place.
void SetPort(int port, sockaddr_storage* address) {
  reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<uint16_t>(port));
}

int PortIn(const sockaddr_storage& address) {
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return PortIn(address);
}

bool IsAny(const Address& address) {
  const auto* const any = reinterpret_cast<const sockaddr*>(&address.storage);
  return any->sa_family == AF_INET ? reinterpret_cast<const sockaddr_in*>(any)->sin_addr.s_addr == htonl(INADDR_ANY)
                                   : IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(any)->sin6_addr);
}

// Returns a listening socket, or minus the error's number.
int ListenOn(const Address& address) {
  const int both = 0;
  const int on = 1;
  const int opened = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (opened < 0) {
    return -errno;
  }
  if (address.storage.ss_family == AF_INET6) {
    setsockopt(opened, IPPROTO_IPV6, IPV6_V6ONLY, IsAny(address) ? &both : &on, sizeof(on));
  }
  // Allows the port although connections of an earlier server linger. A running server's port is still refused.
  setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Accepted connections inherit these two.
  setsockopt(opened, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(opened, IPPROTO_TCP, TCP_USER_TIMEOUT, &Listener::kSendTimeoutMs, sizeof(Listener::kSendTimeoutMs));
  if (bind(opened, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      listen(opened, SOMAXCONN) != 0) {
    const int error = errno;
    close(opened);
    return -error;
  }
  return opened;
}

bool HasIpv6() {
  const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe >= 0) {
    close(probe);
  }
  return probe >= 0;
}

// All addresses of the machine, in one socket for both protocols if possible.
Address Any(int port) {
  Address any;
  if (HasIpv6()) {
    auto* const ipv6 = reinterpret_cast<sockaddr_in6*>(&any.storage);
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_addr = in6addr_any;
    any.size = sizeof(sockaddr_in6);
  } else {
    auto* const ipv4 = reinterpret_cast<sockaddr_in*>(&any.storage);
    ipv4->sin_family = AF_INET;
    ipv4->sin_addr.s_addr = htonl(INADDR_ANY);
    any.size = sizeof(sockaddr_in);
  }
  SetPort(port, &any.storage);
  return any;
}

// Returns each address once, because a name may repeat one.
absl::StatusOr<std::vector<Address>> Resolve(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  std::string host = listen.substr(0, colon);
  if (host.front() == '[') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), listen.substr(colon + 1).c_str(), &hints, &found); error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", listen, ": ", gai_strerror(error)));
  }
  const absl::Cleanup free = [found] { freeaddrinfo(found); };
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Address address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    if (IsAny(address)) {
      address = Any(PortIn(address.storage));
    }
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
      addresses.push_back(address);
    }
  }
  return addresses;
}

// Listens on all addresses at one port. Returns an error's number, or 0.
int ListenOnAll(std::vector<Address> addresses, std::vector<int>* sockets) {
  int port = 0;
  int error = 0;
  for (Address& address : addresses) {
    if (port != 0) {
      SetPort(port, &address.storage);
    }
    const int opened = ListenOn(address);
    if (opened >= 0) {
      sockets->push_back(opened);
      port = PortOf(opened);
    } else if (error = -opened; error != EADDRNOTAVAIL && error != EAFNOSUPPORT) {
      break;  // Clients of that address would find another server, or none.
    }
  }
  // The machine need not have all addresses of a name.
  if (!sockets->empty() && (error == 0 || error == EADDRNOTAVAIL || error == EAFNOSUPPORT)) {
    return 0;
  }
  for (const int opened : *sockets) {
    close(opened);
  }
  sockets->clear();
  return error;
}

// Descriptors past this number are for files.
int MostForConnections() {
  rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t{1} << 30)
             ? static_cast<int>(limit.rlim_cur / 4 * 3)
             : 1 << 30;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& listen) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateHostPort(listen, /*allow_port_zero=*/true), "listening"));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Address> addresses, Resolve(listen));
  const bool any_port = PortIn(addresses.front().storage) == 0;
  std::vector<int> sockets;
  int error = ListenOnAll(addresses, &sockets);
  // A port that is free at one address may be taken at another.
  for (int i = 0; any_port && error == EADDRINUSE && i < kTriesForAPort; ++i) {
    error = ListenOnAll(addresses, &sockets);
  }
  if (error != 0) {
    return CannotListen(listen, error);
  }
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    error = errno;
    for (const int opened : sockets) {
      close(opened);
    }
    return CannotListen(listen, error);
  }
  const int port = PortOf(sockets.front());
  return std::unique_ptr<Listener>(
      new Listener(std::move(sockets), absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port), wake));
}

Listener::Listener(std::vector<int> sockets, std::string address, int wake)
    : sockets_(std::move(sockets)), address_(std::move(address)), wake_(wake) {}

Listener::~Listener() {
  Stop();
  close(wake_);
}

void Listener::Start(Accepted accepted) {
  accepted_ = std::move(accepted);
  thread_ = Thread("listener", [this] { Run(); });
}

void Listener::Stop() {
  const uint64_t one = 1;
  (void)!write(wake_, &one, sizeof(one));
  thread_.Join();
  for (const int each : sockets_) {
    close(each);
  }
  sockets_.clear();
}

void Listener::Run() {
  std::vector<pollfd> waits;
  for (const int each : sockets_) {
    waits.push_back({each, POLLIN, 0});
  }
  waits.push_back({wake_, POLLIN, 0});
  bool pause = false;
  for (;;) {
    // During a pause, waiting connections would wake the thread at once.
    pollfd* const first = pause ? &waits.back() : waits.data();
    poll(first, pause ? 1 : waits.size(), pause ? kPauseMs : -1);
    if ((waits.back().revents & POLLIN) != 0) {
      return;
    }
    pause = false;
    for (const int each : sockets_) {
      pause = AcceptSome(each) || pause;
    }
  }
}

bool Listener::AcceptSome(int socket) {
  for (int i = 0; i < kMostAtATime; ++i) {
    const int accepted = accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) {
      switch (errno) {
        case EAGAIN:
#if EWOULDBLOCK != EAGAIN
        case EWOULDBLOCK:
#endif
          return false;
        case EINTR:
        case ECONNABORTED:  // The client has gone. The others are errors of its network.
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case ENETUNREACH:
          continue;
        default:
          Complain(absl::StrCat(ErrorText(errno), "; trying again until it works"));
          return true;
      }
    }
    // A new descriptor is the lowest free number, so all below are taken.
    if (accepted >= MostForConnections()) {
      close(accepted);
      Complain(absl::StrCat("this process has ", accepted,
                            " open files and connections, and the rest of its limit (ulimit -n) is for files; "
                            "clients are turned away until there are fewer"));
      continue;
    }
    // gRPC asks for the peer, and would log an error if it has gone.
    sockaddr_storage peer;
    socklen_t size = sizeof(peer);
    if (getpeername(accepted, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
      close(accepted);
      continue;
    }
    if (!rates_.Take(HostOf(peer))) {
      close(accepted);
      Complain(absl::StrCat("one host opens more than ", kConnectionRate.per_second,
                            " connections a second; those beyond are closed"));
      continue;
    }
    accepted_(accepted);
  }
  return false;
}

void Listener::Complain(const std::string& why) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  const absl::Time now = SteadyNow();
  if (now - complained_ >= kComplainInterval) {
    complained_ = now;
    LogWarning("cannot accept connections on ", address_, ": ", why);
  }
}

}  // namespace waggle
