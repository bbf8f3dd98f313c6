#pragma once

#include <openssl/ssl.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "common/net/http/http_server.h"
#include "common/net/security/tls_server.h"

namespace waggle {

// A client's connection, for one request: its bytes and its time are limited, and a stop of the server ends its waits.
// Used by one thread at a time.
class HttpConnection {
 public:
  // Owns the socket, which does not block. `wake` becomes readable when the server stops. `tls`: null for plain text.
  HttpConnection(int socket, int wake, const HttpServerOptions& options, const TlsServer* tls);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Agrees on keys with the client. False if they do not agree, or if the client speaks plain text, which it is told.
  // Comes first, and does nothing without TLS.
  bool ShakeHands();
  bool has_tls() const { return tls_ != nullptr; }
  // The names of the client's verified certificate; empty without one.
  std::vector<std::string> CertificateNames() const;

  // Reads the request line and the headers, which Read then returns, without Range headers: answers are always whole.
  // False if they are too long, in which case the client has been told, or the connection ends.
  bool ReadHeader();

  // Returns bytes of the header, then of the body; 0 at the end of the stream, -1 past the limits of bytes and time.
  ssize_t Read(char* to, size_t size);
  // Writes everything, or returns -1.
  ssize_t Write(const char* from, size_t size);
  // Waits until Read would return something. False if it would fail.
  bool AwaitReadable();

  // The client's IP address; empty if it has gone.
  std::string peer() const;

  // Ends the answer. Unread bytes of the client would otherwise make the system drop it.
  void Finish();

 private:
  // Waits for an event of poll. False after a stop or at the deadline.
  bool Await(short event, const Deadline& deadline) const;
  // As recv, within the deadline.
  ssize_t Receive(char* to, size_t size);
  // As send, within the deadline: some bytes, or -1.
  ssize_t Send(const char* from, size_t size, const Deadline& deadline);
  // Repeats a function of OpenSSL until it has a result: its bytes, 0 at the stream's end, -1 after an error.
  ssize_t Repeat(const std::function<int()>& call, const Deadline& deadline) const;
  // The same as Send without TLS.
  ssize_t SendPlain(const char* from, size_t size, const Deadline& deadline) const;

  const int socket_;
  const int wake_;
  const HttpServerOptions options_;
  const std::shared_ptr<SSL_CTX> context_;  // Null without TLS, as the next one.
  const std::unique_ptr<SSL, void (*)(SSL*)> tls_;
  bool agreed_ = false;  // The handshake is over.
  const Deadline read_deadline_;
  std::optional<Deadline> write_deadline_;  // From the first written byte.
  std::string ahead_;                       // Bytes that were read and not returned yet.
  size_t returned_ = 0;                     // The bytes of `ahead_` that Read has returned.
  size_t body_left_ = 0;                    // The bytes that may still be read from the socket.
};

}  // namespace waggle
