#include <openssl/err.h>
#include <openssl/ssl.h>

#include <csignal>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/log_context.h"
#include "common/net/http/http_server.h"
#include "common/net/security/security.h"
#include "tests/common/net/security/certificate_folders.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp_socket.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

constexpr char kToken[] = "a-token-of-ann";

absl::StatusOr<AccessList> Callers(const std::string& /*file*/) {
  AccessList list;
  const absl::Status added = list.Add({"ann", AccessRole::kReader}, {TokenHash(kToken)}, {});
  return added.ok() ? absl::StatusOr<AccessList>(std::move(list)) : added;
}

// A client that trusts every server. Its certificate is that of `folder`; none if it is empty.
class TlsClient {
 public:
  TlsClient(const std::string& address, const std::string& folder)
      : socket_(AF_INET), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    signal(SIGPIPE, SIG_IGN);
    if (!folder.empty()) {
      REQUIRE(SSL_CTX_use_certificate_chain_file(context_.get(), (folder + "/tls.crt").c_str()) == 1);
      REQUIRE(SSL_CTX_use_PrivateKey_file(context_.get(), (folder + "/tls.key").c_str(), SSL_FILETYPE_PEM) == 1);
    }
    ssl_.reset(SSL_new(context_.get()));
    REQUIRE(socket_.Connect(address));
    SSL_set_fd(ssl_.get(), socket_.descriptor());
    agreed_ = SSL_connect(ssl_.get()) == 1;
  }
  // The whole answer; empty if the server ends the connection.
  std::string Ask(const std::string& request) {
    std::string answer;
    char buffer[4096];
    if (agreed_ && SSL_write(ssl_.get(), request.data(), static_cast<int>(request.size())) > 0) {
      for (int size = 0; (size = SSL_read(ssl_.get(), buffer, sizeof(buffer))) > 0;) {
        answer.append(buffer, static_cast<size_t>(size));
      }
      ended_well_ = SSL_get_error(ssl_.get(), 0) == SSL_ERROR_ZERO_RETURN;
    }
    ERR_clear_error();
    return answer;
  }
  bool agreed() const { return agreed_; }
  bool ended_well() const { return ended_well_; }
  // The server's certificate, as hexadecimal digits of its hash.
  std::string Fingerprint() const {
    const std::unique_ptr<X509, void (*)(X509*)> certificate(SSL_get_peer_certificate(ssl_.get()), X509_free);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    X509_digest(certificate.get(), EVP_sha256(), digest, &size);
    return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
  }

 private:
  TcpSocket socket_;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_{nullptr, SSL_free};
  bool agreed_ = false;
  bool ended_well_ = false;
};

// A server with certificates.
struct Fixture {
  explicit Fixture(HttpServerOptions http = {}) {
    MakeCertificates(folder.path());
    SecurityOptions options;
    options.tls = folder.File("worker");
    options.access = folder.File("access");
    options.load_access = &Callers;
    options.reload_period = absl::Milliseconds(20);
    security = ValueOf(Security::Open(options));
    http.security = security.get();
    HttpRoutes routes;
    const auto tell = [](const HttpRequest& request) {
      HttpResponse response;
      response.body = absl::StrCat(request.secure ? "secure " : "plain ", ThreadCaller(), request.body);
      return response;
    };
    routes.Get("/caller", tell);
    routes.Post("/caller", tell);
    routes.GetByAnyone("/healthz", tell);
    routes.Get("/large", [](const HttpRequest&) {
      HttpResponse response;
      response.body = std::string(3 << 20, 'x');
      return response;
    });
    server = ValueOf(HttpServer::Start("127.0.0.1:0", std::move(routes), http));
  }
  // `certificate`: hub, worker, admin, submitter, reader; empty: none.
  std::string Get(const std::string& path, const std::string& certificate, const std::string& headers = "") const {
    return Ask(certificate, absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: h\r\n", headers, "\r\n"));
  }
  std::string Post(const std::string& certificate, const std::string& headers = "") const {
    return Ask(certificate,
               absl::StrCat("POST /caller HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n", headers, "\r\nbody"));
  }
  std::string Ask(const std::string& certificate, const std::string& request) const {
    TlsClient client(server->address(), certificate.empty() ? "" : folder.File(certificate));
    const std::string answer = client.Ask(request);
    CHECK(client.ended_well());
    return answer;
  }
  int64_t Refused(SecurityRefusals::Reason reason) const { return security->refusals().count(reason); }

  const TemporaryFolder folder;
  std::unique_ptr<Security> security;
  std::unique_ptr<HttpServer> server;
};

TEST_CASE("callers are let in by their certificates, and by their tokens", "[unit]") {
  const Fixture fixture;
  CHECK(std::string(fixture.server->scheme()) == "https");
  CHECK_THAT(fixture.Get("/caller", "reader"), Catch::StartsWith("HTTP/1.1 200") && Catch::Contains("secure reader"));
  CHECK_THAT(fixture.Get("/caller", "worker"), Catch::Contains("secure worker"));
  CHECK_THAT(fixture.Get("/caller", "", absl::StrCat("Authorization: Bearer ", kToken, "\r\n")),
             Catch::Contains("secure ann"));
  // As a browser asks for it; the name is not looked at.
  const std::string basic = absl::Base64Escape(absl::StrCat("anybody:", kToken));
  CHECK_THAT(fixture.Get("/caller", "", absl::StrCat("Authorization: Basic ", basic, "\r\n")),
             Catch::Contains("secure ann"));
  CHECK(fixture.Get("/large", "reader").size() > (3 << 20));
}

TEST_CASE("callers that are not known, or whose role does not suffice, are refused and counted", "[unit]") {
  const Fixture fixture;
  CHECK_THAT(fixture.Get("/healthz", ""), Catch::StartsWith("HTTP/1.1 200"));
  CHECK_THAT(fixture.Get("/caller", ""),
             Catch::StartsWith("HTTP/1.1 401") && Catch::Contains("WWW-Authenticate: Basic"));
  CHECK(fixture.Refused(SecurityRefusals::kNoCaller) == 1);
  for (const std::string& wrong : {std::string("Bearer x"), std::string("Basic eDp5"), std::string("Basic !"),
                                   absl::StrCat("Basic ", absl::Base64Escape(kToken))}) {
    CAPTURE(wrong);
    CHECK_THAT(fixture.Get("/caller", "worker", absl::StrCat("Authorization: ", wrong, "\r\n")),
               Catch::StartsWith("HTTP/1.1 401"));
  }
  CHECK(fixture.Refused(SecurityRefusals::kUnknownToken) == 4);
  CHECK_THAT(fixture.Post("submitter"), Catch::Contains("secure submitter.wagglebody"));
  CHECK_THAT(fixture.Post("admin"), Catch::Contains("secure admin.wagglebody"));
  CHECK_THAT(fixture.Post("reader"), Catch::StartsWith("HTTP/1.1 403") && !Catch::Contains("body"));
  CHECK_THAT(fixture.Post("worker"), Catch::StartsWith("HTTP/1.1 403"));
  CHECK(fixture.Refused(SecurityRefusals::kRole) == 2);
  // A browser sends certificates and passwords with what a page of another site asks for.
  CHECK_THAT(fixture.Post("submitter", "Origin: https://other\r\n"), Catch::StartsWith("HTTP/1.1 403"));
  CHECK_THAT(fixture.Post("submitter", "Origin: http://h\r\n"), Catch::StartsWith("HTTP/1.1 403"));
  CHECK_THAT(fixture.Post("submitter", "Origin: https://h\r\n"), Catch::StartsWith("HTTP/1.1 200"));
}

TEST_CASE("certificates of another authority, plain text, and clients without a handshake get no answer", "[unit]") {
  HttpServerOptions http;
  http.read_timeout = absl::Milliseconds(50);
  const Fixture fixture(http);
  const TemporaryFolder other;
  MakeCertificates(other.path());
  CHECK(TlsClient(fixture.server->address(), other.File("reader"))
            .Ask("GET /caller HTTP/1.1\r\nHost: h\r\n\r\n")
            .empty());
  TcpSocket plain(fixture.server->address());
  plain.Write("GET /caller HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK_THAT(plain.ReadToEnd(), Catch::StartsWith("HTTP/1.1 400") && Catch::Contains("wanted https"));
  TcpSocket slow(fixture.server->address());
  slow.Write("\x16\x03\x01");
  CHECK(slow.AwaitEnd());
  Eventually("all three are counted", [&] { return fixture.Refused(SecurityRefusals::kHandshake) == 3; });
}

TEST_CASE("new connections use renewed certificates", "[unit]") {
  const Fixture fixture;
  const std::string before = TlsClient(fixture.server->address(), "").Fingerprint();
  MakeCertificates(fixture.folder.path());
  Eventually("the new certificate is used",
             [&] { return TlsClient(fixture.server->address(), "").Fingerprint() != before; });
  CHECK_THAT(fixture.Get("/caller", "reader"), Catch::Contains("secure reader"));
}

TEST_CASE("a server of plain text beyond this machine is refused", "[unit]") {
  const auto security = ValueOf(Security::Open({}));
  HttpServerOptions options;
  options.flag = "--web";
  options.security = security.get();
  const absl::Status refused = HttpServer::Start("0.0.0.0:0", {}, options).status();
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("--web"));
}

}  // namespace
}  // namespace waggle::testing
