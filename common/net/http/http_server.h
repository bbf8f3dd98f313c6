#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/executor.h"
#include "common/net/listener.h"
#include "common/net/security/access_role.h"
#include "common/net/security/security.h"

namespace waggle {

struct HttpRequest {
  std::string method;                             // "GET", also for HEAD, or "POST".
  std::string path;                               // Decoded, without the query: "/api/experiments".
  std::map<std::string, std::string> parameters;  // The query's, decoded. The first value of a repeated one.
  std::map<std::string, std::string> headers;     // Names are in lower case. The first value of a repeated one.
  std::string body;
  std::string peer;     // The client's IP address: "127.0.0.1". Empty if unknown.
  bool secure = false;  // The request came by TLS, and the server has let its caller in.
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  // Besides Content-Type and Content-Length.
};

// Called from several threads at once. What it throws becomes status 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest& request)>;

// Handlers by method and path.
class HttpRoutes {
 public:
  struct Route {
    HttpHandler handler;
    AccessRoles roles;  // Those that may ask by TLS. None: everybody may.
  };

  // `path` is a whole path, or a beginning of paths that ends with "/*": "/api/*" is all paths that start with "/api/".
  // A whole path is preferred to a beginning, and a longer beginning to a shorter one. A GET handler answers HEAD too.
  // On a server with TLS, callers of every role may read, and submitters may post.
  void Get(const std::string& path, HttpHandler handler) {
    gets_[path] = {std::move(handler), AccessRole::kReader | AccessRole::kSubmitter | AccessRole::kWorker};
  }
  void Post(const std::string& path, HttpHandler handler) {
    posts_[path] = {std::move(handler), AccessRole::kSubmitter};
  }
  // Callers without a certificate or a token get an answer too.
  void GetByAnyone(const std::string& path, HttpHandler handler) { gets_[path] = {std::move(handler), {}}; }

  // The route of a request, or null. HEAD counts as GET.
  const Route* Find(const std::string& method, const std::string& path) const;
  // The methods that `path` has handlers for, such as "GET, HEAD"; empty if there are none.
  std::string Methods(const std::string& path) const;

 private:
  using Routes = std::map<std::string, Route>;
  static const Route* FindIn(const Routes& routes, const std::string& path);

  Routes gets_;
  Routes posts_;
};

struct HttpServerOptions {
  std::string flag = "--listen";               // The flag of the server's address, which errors begin with.
  Security* security = nullptr;                // Null: the process's.
  int threads = 4;                             // Requests that are answered at once.
  size_t max_connections = 64;                 // Those that wait for a thread. More are closed.
  size_t max_path_bytes = 1024;                // 414 past it.
  size_t max_header_bytes = size_t{16} << 10;  // With the request line. 431 past it.
  size_t max_body_bytes = size_t{1} << 20;     // 413 past it.
  // A whole request must have arrived, and a whole answer been taken, after these times.
  absl::Duration read_timeout = absl::Seconds(10);
  absl::Duration write_timeout = absl::Seconds(20);
};

// A small HTTP/1.1 server for figures and pages. It answers one request a connection and closes it, so that idle
// clients hold no thread. With certificates (docs/security.md) it speaks TLS alone, and lets a caller in by its
// certificate, or by its token: as `Authorization: Bearer TOKEN`, or as the password of Basic authorization, for which
// browsers ask. Others get 401, and 403 if their role may not ask this. A POST from a page of another site (its Origin
// is not its Host) is refused with 403. Answers are compressed with gzip if the client takes it. No exception leaves
// it.
class HttpServer {
 public:
  // Listens on HOST:PORT, as RpcServer does; port 0 takes a free one. INVALID_ARGUMENT for a malformed address;
  // UNAVAILABLE if listening fails; FAILED_PRECONDITION as Security::TlsFor.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& listen, HttpRoutes routes,
                                                           const HttpServerOptions& options = {});
  // Calls Stop.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  const char* scheme() const { return tls_ == nullptr ? "http" : "https"; }
  // With the port that was taken.
  const std::string& address() const { return listener_->address(); }

  // Closes the port and connections that wait, and returns when the last handler has returned. Idempotent; call from
  // one thread.
  void Stop();

 private:
  class Connection;
  class Parser;  // The HTTP library's server.

  HttpServer(std::unique_ptr<Listener> listener, HttpRoutes routes, const HttpServerOptions& options,
             const TlsServer* tls, int wake);
  void Accept(int descriptor);

  const HttpRoutes routes_;
  const HttpServerOptions options_;
  const TlsServer* const tls_;  // Null for plain text.
  const int wake_;              // An eventfd: readable once connections must end.
  const std::unique_ptr<Parser> parser_;
  const std::unique_ptr<Listener> listener_;
  std::unique_ptr<Executor> threads_;
};

}  // namespace waggle
