#include "common/net/http/http_connection.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "common/base/threads/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Both ends of a connection; the server's is a HttpConnection.
class Pair {
 public:
  explicit Pair(const HttpServerOptions& options = {}) : wake_(eventfd(0, EFD_CLOEXEC)) {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0);
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    connection_ = std::make_unique<HttpConnection>(ends_[1], wake_, options, /*tls=*/nullptr);
  }
  ~Pair() {
    connection_.reset();
    Hang();
    close(wake_);
  }

  HttpConnection* operator->() { return connection_.get(); }
  void Send(const std::string& bytes) const {
    REQUIRE(write(ends_[0], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  void Hang() {
    if (ends_[0] >= 0) {
      close(ends_[0]);
    }
    ends_[0] = -1;
  }
  void Stop() const {
    const uint64_t one = 1;
    REQUIRE(write(wake_, &one, sizeof(one)) == sizeof(one));
  }
  // The bytes that Read returns until it fails or ends.
  std::string Rest() {
    std::string all;
    char piece[7];
    for (ssize_t got = 0; (got = connection_->Read(piece, sizeof(piece))) > 0;) {
      all.append(piece, static_cast<size_t>(got));
    }
    return all;
  }
  // The next bytes that the client gets.
  std::string Received() const {
    char buffer[4096];
    const ssize_t got = recv(ends_[0], buffer, sizeof(buffer), 0);
    return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : "";
  }

 private:
  const int wake_;
  int ends_[2] = {-1, -1};
  std::unique_ptr<HttpConnection> connection_;
};

TEST_CASE("a header is read whole and returned without Range lines, with what follows it", "[unit]") {
  Pair pair;
  pair.Send(
      "POST /x HTTP/1.1\r\nRANGE: bytes=0-1,0-1\r\nContent-Length: 19\r\nrange: bytes=1-\r\n\r\nbody of the request");
  REQUIRE(pair->ReadHeader());
  pair.Hang();
  CHECK(pair->AwaitReadable());
  CHECK(pair.Rest() == "POST /x HTTP/1.1\r\nContent-Length: 19\r\n\r\nbody of the request");
}

TEST_CASE("a header may come byte by byte, and end its lines without a carriage return", "[unit]") {
  Pair pair;
  const std::string header = GENERATE("GET / HTTP/1.1\r\nA: b\r\n\r\n", "GET / HTTP/1.1\nA: b\n\n");
  Thread sender("sender", [&] {
    for (const char c : header) {
      pair.Send(std::string(1, c));
    }
  });
  CHECK(pair->ReadHeader());
  sender.Join();
  pair.Hang();
  CHECK(pair.Rest() == header);
}

TEST_CASE("a header past its limit is answered with 431", "[unit]") {
  HttpServerOptions options;
  options.max_header_bytes = 100;
  Pair pair(options);
  const bool ends = GENERATE(false, true);
  pair.Send("GET / HTTP/1.1\r\nLong: " + std::string(100, 'x') + (ends ? "\r\n\r\n" : ""));
  Thread client("client", [&] {
    CHECK(pair.Received().find("HTTP/1.1 431 ") == 0);
    pair.Hang();
  });
  CHECK(!pair->ReadHeader());
}

TEST_CASE("a body's bytes are limited, whatever its header says", "[unit]") {
  HttpServerOptions options;
  options.max_body_bytes = 10;
  Pair pair(options);
  pair.Send("GET / HTTP/1.1\r\n\r\n" + std::string(20'000, 'x'));
  REQUIRE(pair->ReadHeader());
  CHECK(pair.Rest().size() < 10'000);
  CHECK(!pair->AwaitReadable());
}

TEST_CASE("waits end when the client hangs up, when the time is over and when the server stops", "[unit]") {
  SECTION("the client hangs up") {
    Pair pair;
    pair.Send("GET / HT");
    pair.Hang();
    CHECK(!pair->ReadHeader());
  }
  SECTION("the time is over") {
    HttpServerOptions options;
    options.read_timeout = absl::Milliseconds(1);
    Pair pair(options);
    pair.Send("GET / HT");
    CHECK(!pair->ReadHeader());
  }
  SECTION("the server stops") {
    Pair pair;
    pair.Send("GET / HT");
    pair.Stop();
    CHECK(!pair->ReadHeader());
  }
  SECTION("the client takes no answer") {
    HttpServerOptions options;
    options.write_timeout = absl::Milliseconds(1);
    Pair pair(options);
    const std::string large(16 << 20, 'x');
    CHECK(pair->Write(large.data(), large.size()) == -1);
  }
}

}  // namespace
}  // namespace waggle
