#include "absl/strings/match.h"
#include "common/net/http/http_server.h"

namespace waggle {

const HttpRoutes::Route* HttpRoutes::FindIn(const Routes& routes, const std::string& path) {
  if (const auto whole = routes.find(path); whole != routes.end()) {
    return &whole->second;
  }
  const Route* found = nullptr;
  size_t longest = 0;
  for (const auto& [pattern, route] : routes) {
    if (pattern.size() > longest && absl::EndsWith(pattern, "/*") &&
        absl::StartsWith(path, absl::string_view(pattern).substr(0, pattern.size() - 1))) {
      found = &route;
      longest = pattern.size();
    }
  }
  return found;
}

const HttpRoutes::Route* HttpRoutes::Find(const std::string& method, const std::string& path) const {
  return method == "GET" || method == "HEAD" ? FindIn(gets_, path) : method == "POST" ? FindIn(posts_, path) : nullptr;
}

std::string HttpRoutes::Methods(const std::string& path) const {
  const bool get = FindIn(gets_, path) != nullptr;
  const bool post = FindIn(posts_, path) != nullptr;
  return get && post ? "GET, HEAD, POST" : get ? "GET, HEAD" : post ? "POST" : "";
}

}  // namespace waggle
