#include "common/net/http/http_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/log_context.h"
#include "common/base/status_macros.h"
#include "common/net/http/http_connection.h"

// The only user of the HTTP library (cpp-httplib). It reads a request and writes the answer. Connections are accepted,
// and their bytes limited, by this folder: the library's own loop has no limit of the bytes of headers.
#include <httplib.h>

namespace waggle {
namespace {

// The request that this thread answers: the library's request does not name it.
struct Answered {
  const HttpConnection* connection = nullptr;
  Caller caller;  // Without a name on a server of plain text, and for a route that everybody may ask.
};
thread_local Answered answered;

HttpResponse Plain(int status, absl::string_view why) {
  HttpResponse response;
  response.status = status;
  response.body = absl::StrCat(why, "\n");
  return response;
}

// The value of the header Authorization, with a token that came as the password of Basic authorization.
std::string AuthorizationOf(const httplib::Request& request) {
  const std::string value = request.get_header_value("Authorization");
  std::string named;
  if (!absl::StartsWith(value, "Basic ") || !absl::Base64Unescape(value.substr(6), &named)) {
    return value;
  }
  const size_t end_of_name = named.find(':');
  return absl::StrCat("Bearer ", named.substr(end_of_name == std::string::npos ? named.size() : end_of_name + 1));
}

HttpResponse NotLetIn(const absl::Status& why) {
  HttpResponse refusal = Plain(absl::IsUnauthenticated(why) ? 401 : 403, why.message());
  if (refusal.status == 401) {
    refusal.headers.emplace_back("WWW-Authenticate", "Basic realm=\"Waggle: a name, and a token as the password\"");
  }
  return refusal;
}

HttpRequest ToRequest(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method == "HEAD" ? "GET" : from.method;
  request.path = from.path;
  request.parameters.insert(from.params.begin(), from.params.end());
  for (const auto& [name, value] : from.headers) {
    request.headers.emplace(absl::AsciiStrToLower(name), value);
  }
  request.body = from.body;
  request.peer = from.remote_addr;
  request.secure = answered.connection->has_tls();
  return request;
}

void Answer(HttpResponse response, httplib::Response* to) {
  to->status = response.status;
  for (auto& [name, value] : response.headers) {
    to->set_header(name, value);
  }
  to->set_header("X-Content-Type-Options", "nosniff");  // A browser must not take text for a page.
  to->set_content(response.body, response.content_type);
}

Security* SecurityOf(const HttpServerOptions& options) {
  return options.security != nullptr ? options.security : &ProcessSecurity();
}

// A browser tells the site of the page that posts. Programs send no Origin.
bool IsOfAnotherSite(const httplib::Request& request) {
  const std::string origin = request.get_header_value("Origin");
  const char* const scheme = answered.connection->has_tls() ? "https://" : "http://";
  return !origin.empty() && origin != absl::StrCat(scheme, request.get_header_value("Host"));
}

}  // namespace

// The library's view of a connection. Its functions do not override by name: later versions of the library have more of
// them, and other names.
class HttpServer::Connection final : public httplib::Stream {
 public:
  explicit Connection(HttpConnection* connection) : connection_(connection) {}

  bool is_readable() const { return connection_->AwaitReadable(); }
  bool is_writable() const { return true; }
  bool wait_readable() const { return connection_->AwaitReadable(); }
  bool wait_writable() const { return true; }
  ssize_t read(char* to, size_t size) { return connection_->Read(to, size); }
  ssize_t write(const char* from, size_t size) { return connection_->Write(from, size); }
  void get_remote_ip_and_port(std::string& ip, int&) const { ip = connection_->peer(); }
  void get_local_ip_and_port(std::string&, int&) const {}
  socket_t socket() const { return INVALID_SOCKET; }
  time_t duration() const { return 0; }

 private:
  HttpConnection* const connection_;
};

class HttpServer::Parser final : public httplib::Server {
 public:
  // `security` lets callers in; null without TLS.
  Parser(const HttpRoutes* routes, const HttpServerOptions& options, Security* security)
      : routes_(routes), options_(options), security_(security) {
    set_payload_max_length(options.max_body_bytes);
    // Runs before the body is read. All paths that go on have a handler and are short: the library matches them by a
    // regular expression, which takes stack for each character.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      HttpResponse refusal = Refusal(request);
      if (refusal.status == 200) {
        return HandlerResponse::Unhandled;
      }
      Answer(std::move(refusal), &response);
      return HandlerResponse::Handled;
    });
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      const LogScope scope({"", "", "", answered.caller.name});
      Answer(routes_->Find(request.method, request.path)->handler(ToRequest(request)), &response);
    };
    Get(".*", handle);
    Post(".*", handle);
    set_exception_handler([](const httplib::Request& request, httplib::Response& response, std::exception_ptr thrown) {
      std::string what = "not a std::exception";
      try {
        std::rethrow_exception(std::move(thrown));
      } catch (const std::exception& error) {
        what = error.what();
      } catch (...) {
      }
      LogError("a bug in Waggle: ", request.method, " ", request.path, " threw: ", what);
      Answer(Plain(500, "an internal error; the server's log has more"), &response);
    });
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) {
        response.set_content(absl::StrCat(response.status, "\n"), "text/plain; charset=utf-8");
      }
    });
  }

  void Serve(HttpConnection* connection) {
    Connection stream(connection);
    bool closed = false;
    answered = {connection, {}};
    Process(this, stream, connection->peer(), &closed, 0);
    answered = {};
  }

 private:
  // Status 200: none.
  HttpResponse Refusal(const httplib::Request& request) const {
    if (request.path.size() > options_.max_path_bytes) {
      return Plain(414,
                   absl::StrCat("path: got ", request.path.size(), " bytes; wanted at most ", options_.max_path_bytes));
    }
    const HttpRoutes::Route* const route = routes_->Find(request.method, request.path);
    if (route == nullptr) {
      const std::string methods = routes_->Methods(request.path);
      if (methods.empty()) {
        return Plain(404, "there is no such page");
      }
      HttpResponse refusal = Plain(405, absl::StrCat("method: got ", request.method, "; wanted ", methods));
      refusal.headers.emplace_back("Allow", methods);
      return refusal;
    }
    // A small encoded body could unfold into any amount of memory. Parts of forms have no reader.
    if (request.has_header("Content-Encoding") || request.is_multipart_form_data()) {
      return Plain(415, "body: wanted neither an encoding nor a multipart form");
    }
    if (request.method == "POST" && IsOfAnotherSite(request)) {
      return Plain(403, "Origin: wanted a page of this server");
    }
    if (security_ != nullptr && !route->roles.empty()) {
      absl::StatusOr<Caller> caller = security_->LetInAs(
          route->roles, {request.path, AuthorizationOf(request), answered.connection->CertificateNames()});
      if (!caller.ok()) {
        return NotLetIn(caller.status());
      }
      answered.caller = *std::move(caller);
    }
    return {};
  }

  // The library's version 0.11, of Debian 12, and those that take addresses too.
  template <class Self>
  static auto Process(Self* self, httplib::Stream& stream, const std::string& /*peer*/, bool* closed, int)
      -> decltype(self->process_request(stream, true, *closed, nullptr)) {
    return self->process_request(stream, /*close_connection=*/true, *closed, nullptr);
  }
  template <class Self>
  static auto Process(Self* self, httplib::Stream& stream, const std::string& peer, bool* closed, long)
      -> decltype(self->process_request(stream, peer, 0, "", 0, true, *closed, nullptr)) {
    return self->process_request(stream, peer, 0, "", 0, /*close_connection=*/true, *closed, nullptr);
  }

  const HttpRoutes* const routes_;
  const HttpServerOptions options_;
  Security* const security_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& listen, HttpRoutes routes,
                                                              const HttpServerOptions& options) {
  absl::StatusOr<std::unique_ptr<Listener>> listener = Listener::Open(listen);
  WAGGLE_RETURN_IF_ERROR(Annotate(listener.status(), options.flag));
  const absl::StatusOr<const TlsServer*> tls = SecurityOf(options)->TlsFor(listen);
  WAGGLE_RETURN_IF_ERROR(Annotate(tls.status(), options.flag));
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    return absl::UnavailableError(
        absl::StrCat(options.flag, ": cannot listen on ", listen, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(*std::move(listener), std::move(routes), options, *tls, wake));
}

HttpServer::HttpServer(std::unique_ptr<Listener> listener, HttpRoutes routes, const HttpServerOptions& options,
                       const TlsServer* tls, int wake)
    : routes_(std::move(routes)),
      options_(options),
      tls_(tls),
      wake_(wake),
      parser_(std::make_unique<Parser>(&routes_, options_, tls == nullptr ? nullptr : SecurityOf(options_))),
      listener_(std::move(listener)),
      threads_(std::make_unique<Executor>("http", options_.threads, options_.max_connections)) {
  listener_->Start([this](int descriptor) { Accept(descriptor); });
}

HttpServer::~HttpServer() {
  Stop();
  close(wake_);
}

void HttpServer::Stop() {
  listener_->Stop();
  const uint64_t one = 1;
  (void)!write(wake_, &one, sizeof(one));
  threads_.reset();
}

void HttpServer::Accept(int descriptor) {
  const auto connection = std::make_shared<HttpConnection>(descriptor, wake_, options_, tls_);
  // Without a place for it, the connection is closed.
  threads_
      ->Submit([this, connection] {
        try {
          if (!connection->ShakeHands()) {
            SecurityOf(options_)->mutable_refusals()->Count(SecurityRefusals::kHandshake);
          } else if (connection->ReadHeader()) {
            parser_->Serve(connection.get());
            connection->Finish();
          }
        } catch (const std::exception& error) {
          LogError("a bug in Waggle: an HTTP connection threw: ", error.what());
        } catch (...) {
          LogError("a bug in Waggle: an HTTP connection threw");
        }
      })
      .IgnoreError();
}

}  // namespace waggle
