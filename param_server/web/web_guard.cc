#include "param_server/web/web_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace waggle {
namespace {

// "HOST:PORT" or "[HOST]:PORT" without the port and the brackets.
absl::string_view WithoutPort(absl::string_view host) {
  if (absl::ConsumePrefix(&host, "[")) {
    return host.substr(0, host.find(']'));
  }
  return host.substr(0, host.find(':'));
}

std::string HeaderOf(const HttpRequest& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

}  // namespace

bool IsLoopbackAddress(absl::string_view address) {
  absl::ConsumePrefix(&address, "::ffff:");
  in_addr four = {};
  in6_addr six = {};
  const std::string text(address);
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == 127;
  }
  return inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool IsLoopbackHost(absl::string_view host) {
  const absl::string_view name = WithoutPort(host);
  return absl::EqualsIgnoreCase(name, "localhost") || IsLoopbackAddress(name);
}

absl::Status CheckMayChange(const HttpRequest& request) {
  if (request.secure) {
    return absl::OkStatus();  // The server has let the caller in, and keeps pages of other sites out.
  }
  if (!IsLoopbackAddress(request.peer) || request.headers.count("x-forwarded-for") > 0 ||
      request.headers.count("forwarded") > 0) {
    return absl::PermissionDeniedError("only this server's own machine may make changes here; use `waggle`");
  }
  const std::string host = HeaderOf(request, "host");
  if (!IsLoopbackHost(host)) {
    return absl::PermissionDeniedError("changes must be made at the name localhost or 127.0.0.1");
  }
  if (const std::string origin = HeaderOf(request, "origin");
      request.headers.count("origin") > 0 && origin != absl::StrCat("http://", host)) {
    return absl::PermissionDeniedError("changes must be made from this server's own page");
  }
  return absl::OkStatus();
}

}  // namespace waggle
