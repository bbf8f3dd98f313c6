#include "common/net/http/http_server.h"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "tests/support/catch.h"
#include "tests/support/tcp_socket.h"

namespace waggle {
namespace {

using testing::TcpSocket;

HttpResponse Text(const std::string& body) {
  HttpResponse response;
  response.body = body;
  return response;
}

// Tells what it was asked.
HttpResponse Echo(const HttpRequest& request) {
  std::string text = request.method + " " + request.path;
  for (const auto& [name, value] : request.parameters) {
    text += " " + name + "=" + value;
  }
  const auto colour = request.headers.find("x-colour");
  HttpResponse response =
      Text(text + " " + (colour == request.headers.end() ? "" : colour->second) + "[" + request.body + "]");
  response.headers.emplace_back("X-Extra", "yes");
  return response;
}

HttpRoutes Routes() {
  HttpRoutes routes;
  routes.Get("/echo/*", &Echo);
  routes.Post("/echo/*", &Echo);
  routes.Get("/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("secret"); });
  routes.Get("/throws_a_number", [](const HttpRequest&) -> HttpResponse { throw 1; });
  routes.Get("/large", [](const HttpRequest&) { return Text(std::string(1 << 20, 'x')); });
  return routes;
}

std::unique_ptr<HttpServer> Serve(const HttpServerOptions& options = {}, HttpRoutes routes = Routes()) {
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start("127.0.0.1:0", std::move(routes), options);
  REQUIRE(server.ok());
  return std::move(*server);
}

// The whole answer to a request's bytes.
std::string Ask(const HttpServer& server, const std::string& request) {
  TcpSocket client(server.address());
  REQUIRE(client.connected());
  client.Write(request);
  return client.ReadToEnd();
}

std::string Get(const HttpServer& server, const std::string& target, const std::string& headers = "") {
  return Ask(server, "GET " + target + " HTTP/1.1\r\nHost: " + server.address() + "\r\n" + headers + "\r\n");
}

std::string Post(const HttpServer& server, const std::string& target, const std::string& body,
                 const std::string& headers = "") {
  return Ask(server, "POST " + target + " HTTP/1.1\r\nHost: " + server.address() +
                         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
}

int StatusOf(const std::string& answer) {
  return answer.rfind("HTTP/1.1 ", 0) == 0 ? std::stoi(answer.substr(9, 3)) : 0;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a handler gets the request, decoded, and its answer is sent", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  const std::string got = Get(*server, "/echo/a%20b?k=v%26w&k=second&z=", "X-Colour: red\r\n");
  CHECK(StatusOf(got) == 200);
  CHECK(Contains(got, "\r\n\r\nGET /echo/a b k=v&w z= red[]"));
  CHECK(Contains(got, "X-Extra: yes\r\n"));
  CHECK(Contains(got, "Content-Type: text/plain; charset=utf-8\r\n"));
  CHECK(Contains(got, "Connection: close\r\n"));
  const std::string posted = Post(*server, "/echo/x", "some\nbody");
  CHECK(Contains(posted, "POST /echo/x [some\nbody]"));
}

TEST_CASE("a handler gets the client's address, whatever the client says", "[unit]") {
  HttpRoutes routes;
  routes.Get("/peer", [](const HttpRequest& request) { return Text("peer " + request.peer); });
  const auto server = Serve({}, std::move(routes));
  CHECK(Contains(Get(*server, "/peer"), "peer 127.0.0.1"));
  CHECK(Contains(Get(*server, "/peer", "REMOTE_ADDR: 10.0.0.1\r\n"), "peer 127.0.0.1"));
}

TEST_CASE("a chunked body is put together, and HEAD gets no body", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  const std::string chunked = Ask(*server,
                                  "POST /echo/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "4\r\nsome\r\n5\r\n body\r\n0\r\n\r\n");
  CHECK(Contains(chunked, "[some body]"));
  const std::string head = Ask(*server, "HEAD /echo/x HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(StatusOf(head) == 200);
  CHECK(!Contains(head, "[]"));
}

TEST_CASE("a POST that says nothing of a body has none", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  CHECK(Contains(Ask(*server, "POST /echo/x HTTP/1.1\r\nHost: h\r\n\r\n"), "POST /echo/x []"));
}

TEST_CASE("requests without a handler are refused by status", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  CHECK(StatusOf(Get(*server, "/nothing")) == 404);
  const std::string wrong = Post(*server, "/large", "");
  CHECK(StatusOf(wrong) == 405);
  CHECK(Contains(wrong, "Allow: GET, HEAD\r\n"));
  CHECK(StatusOf(Get(*server, "/echo/" + std::string(2000, 'x'))) == 414);
  CHECK(StatusOf(Ask(*server, "DELETE /echo/x HTTP/1.1\r\nHost: h\r\n\r\n")) == 405);
  CHECK(StatusOf(Ask(*server, "nonsense\r\n\r\n")) == 400);
  CHECK(StatusOf(Get(*server, "/echo/x", "Long: " + std::string(20'000, 'x') + "\r\n")) == 431);
}

TEST_CASE("a body is refused if it is too large, encoded or a multipart form", "[unit]") {
  HttpServerOptions options;
  options.max_body_bytes = 1000;
  const std::unique_ptr<HttpServer> server = Serve(options);
  CHECK(StatusOf(Post(*server, "/echo/x", std::string(1000, 'x'))) == 200);
  CHECK(StatusOf(Post(*server, "/echo/x", std::string(1001, 'x'))) == 413);
  const std::string announced = Ask(*server, "POST /echo/x HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n");
  CHECK(StatusOf(announced) == 413);
  CHECK(StatusOf(Post(*server, "/echo/x", "x", "Content-Encoding: gzip\r\n")) == 415);
  CHECK(StatusOf(Post(*server, "/echo/x", "x", "Content-Type: multipart/form-data; boundary=b\r\n")) == 415);
  std::string chunks = "POST /echo/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) {
    chunks += "400\r\n" + std::string(1024, 'x') + "\r\n";
  }
  CHECK(StatusOf(Ask(*server, chunks + "0\r\n\r\n")) != 200);
}

TEST_CASE("a POST of another site's page is refused", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  CHECK(StatusOf(Post(*server, "/echo/x", "x", "Origin: http://elsewhere.example\r\n")) == 403);
  CHECK(StatusOf(Post(*server, "/echo/x", "x", "Origin: null\r\n")) == 403);
  CHECK(StatusOf(Post(*server, "/echo/x", "x", "Origin: http://" + server->address() + "\r\n")) == 200);
}

TEST_CASE("an exception of a handler becomes status 500 without its text", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  for (const char* const path : {"/throws", "/throws_a_number"}) {
    const std::string answer = Get(*server, path);
    CHECK(StatusOf(answer) == 500);
    CHECK(!Contains(answer, "secret"));
  }
  CHECK(StatusOf(Get(*server, "/echo/x")) == 200);
}

TEST_CASE("an answer is compressed if the client takes it, and whole whatever Range says", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  const std::string plain = Get(*server, "/large", "Range: bytes=0-9\r\n");
  CHECK(StatusOf(plain) == 200);
  CHECK(plain.size() > 1 << 20);
  const std::string compressed = Get(*server, "/large", "Accept-Encoding: gzip\r\n");
  CHECK(Contains(compressed, "Content-Encoding: gzip\r\n"));
  CHECK(Contains(Get(*server, "/large", "accept-encoding: deflate, gzip, br, zstd\r\n"), "Content-Encoding: gzip\r\n"));
  CHECK_FALSE(Contains(Get(*server, "/large", "Accept-Encoding: br\r\n"), "Content-Encoding"));
  CHECK(compressed.size() < 1 << 16);
}

TEST_CASE("idle clients past the limit are turned away, and others are served when they have gone", "[unit]") {
  HttpServerOptions options;
  options.threads = 1;
  options.max_connections = 2;
  const std::unique_ptr<HttpServer> server = Serve(options);
  {
    std::vector<std::unique_ptr<TcpSocket>> idle;
    for (int i = 0; i < 5; ++i) {
      idle.push_back(std::make_unique<TcpSocket>(server->address()));
      REQUIRE(idle.back()->connected());
    }
    CHECK(idle.back()->AwaitEnd());
  }
  // The thread may still have a client that has gone.
  std::string answer;
  while (StatusOf(answer) != 200) {
    answer = Get(*server, "/echo/x");
  }
  CHECK(Contains(answer, "GET /echo/x"));
}

TEST_CASE("a stop ends waiting clients, waits for handlers and frees the port", "[unit]") {
  const StopToken entered;
  const StopToken leave;
  std::atomic<bool> left{false};
  HttpRoutes routes;
  routes.Get("/slow", [&](const HttpRequest&) {
    entered.RequestStop();
    leave.Wait();
    left = true;
    return Text("done");
  });
  std::unique_ptr<HttpServer> server = Serve({}, std::move(routes));
  const std::string address = server->address();
  TcpSocket idle(address);
  idle.Write("GET /sl");
  TcpSocket slow(address);
  slow.Write("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
  entered.Wait();
  Thread stopper("stopper", [&] { server->Stop(); });
  CHECK(idle.AwaitEnd());
  CHECK(!left);
  leave.RequestStop();
  stopper.Join();
  CHECK(left);
  server.reset();
  CHECK(HttpServer::Start(address, {}).ok());
}

TEST_CASE("a malformed or taken address is refused", "[unit]") {
  const std::unique_ptr<HttpServer> server = Serve();
  CHECK(absl::IsInvalidArgument(HttpServer::Start("nowhere", {}).status()));
  CHECK(absl::IsUnavailable(HttpServer::Start(server->address(), {}).status()));
}

}  // namespace
}  // namespace waggle
