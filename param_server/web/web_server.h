#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/net/http/http_server.h"
#include "param_server/web/web_api.h"

namespace waggle {

// The hub's web page and its API. It answers in threads of its own.
class WebServer {
 public:
  // Listens on HOST:PORT. `source` outlives it. Errors as HttpServer::Start.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const std::string& listen, WebSource* source);

  const char* scheme() const { return server_->scheme(); }  // "http" or "https".
  // With the port that was taken.
  const std::string& address() const { return server_->address(); }

 private:
  explicit WebServer(WebSource* source) : api_(source) {}

  WebApi api_;
  std::unique_ptr<HttpServer> server_;  // Last: its threads use the API.
};

}  // namespace waggle
