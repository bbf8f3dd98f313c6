#include "common/rpc/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

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

// Between two tries to accept where there was no descriptor, or something else that others have to give back.
constexpr int kPauseMs = 100;
constexpr absl::Duration kComplainInterval = absl::Seconds(30);

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

bool IsAny(const sockaddr* address) {
  return address->sa_family == AF_INET
             ? reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr == htonl(INADDR_ANY)
             : IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

void SetPort(int port, sockaddr_storage* address) {
  // The port is at the same place in both kinds.
  reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(static_cast<uint16_t>(port));
}

int PortOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

// Returns a listening socket, or minus the error's number.
int ListenOn(const sockaddr_storage& address, socklen_t size) {
  const int both = 0;
  const int on = 1;
  const int opened = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (opened < 0) {
    return -errno;
  }
  if (address.ss_family == AF_INET6) {
    const bool any = IsAny(reinterpret_cast<const sockaddr*>(&address));
    setsockopt(opened, IPPROTO_IPV6, IPV6_V6ONLY, any ? &both : &on, sizeof(on));
  }
  // Connections of a server before may linger; another server's port cannot be had all the same.
  setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(opened, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(opened, SOMAXCONN) != 0) {
    const int error = errno;
    close(opened);
    return -error;
  }
  return opened;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

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
    if (each->ai_family == AF_INET && IsAny(each->ai_addr)) {
      // One socket for both protocols, if the machine has both.
      Address any;
      auto* const ipv6 = reinterpret_cast<sockaddr_in6*>(&any.storage);
      ipv6->sin6_family = AF_INET6;
      ipv6->sin6_addr = in6addr_any;
      SetPort(ntohs(reinterpret_cast<const sockaddr_in*>(each->ai_addr)->sin_port), &any.storage);
      any.size = sizeof(sockaddr_in6);
      if (const int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0); probe >= 0) {
        close(probe);
        address = any;
      }
    }
    addresses.push_back(address);
  }
  return addresses;
}

// Past it descriptors are for files.
int MostForConnections() {
  rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t{1} << 30)
             ? static_cast<int>(limit.rlim_cur / 4 * 3)
             : 1 << 30;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const std::string& listen) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateHostPort(listen, /*allow_port_zero=*/true), "listening"));
  WAGGLE_ASSIGN_OR_RETURN(std::vector<Address> addresses, Resolve(listen));
  std::vector<int> sockets;
  absl::Cleanup close_all = [&sockets] {
    for (const int opened : sockets) {
      close(opened);
    }
  };
  int port = 0;
  int error = EADDRNOTAVAIL;
  for (Address& address : addresses) {
    if (port != 0) {
      SetPort(port, &address.storage);
    }
    const int opened = ListenOn(address.storage, address.size);
    if (opened >= 0) {
      sockets.push_back(opened);
      port = PortOf(opened);
    } else if (error = -opened; error == EADDRINUSE) {
      break;  // Clients of that address would find another server.
    }
  }
  // Of the addresses that a name has the machine need not have all.
  if (sockets.empty() || error == EADDRINUSE) {
    return CannotListen(listen, error);
  }
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    return CannotListen(listen, errno);
  }
  std::move(close_all).Cancel();
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
    // While it pauses, connections that are there would wake it at once.
    pollfd* const first = pause ? &waits.back() : waits.data();
    poll(first, pause ? 1 : waits.size(), pause ? kPauseMs : -1);
    if ((waits.back().revents & POLLIN) != 0) {
      return;
    }
    pause = false;
    for (const int each : sockets_) {
      pause = AcceptAll(each) || pause;
    }
  }
}

bool Listener::AcceptAll(int socket) {
  const int on = 1;
  for (;;) {
    const int accepted = accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted < 0) {
      switch (errno) {
        case EAGAIN:
#if EWOULDBLOCK != EAGAIN
        case EWOULDBLOCK:
#endif
          return false;
        case EINTR:
        case ECONNABORTED:  // That client has gone; these others are errors of its network.
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
    // The lowest number that is free: so all below are taken.
    if (accepted >= MostForConnections()) {
      close(accepted);
      Complain(absl::StrCat("this process has ", accepted,
                            " open files and connections, and the rest of what it may have (ulimit -n) is for files; "
                            "clients are turned away until there are fewer"));
      continue;
    }
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    accepted_(accepted);
  }
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
