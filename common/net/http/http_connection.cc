#include "common/net/http/http_connection.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace waggle {
namespace {

constexpr size_t kPieceBytes = 4096;
// Chunks of a body have a line each beside their bytes.
constexpr size_t kBodyOverhead = 2;
// The most unread bytes that an answer's end waits for, and for how long.
constexpr int kMostDrains = 64;
constexpr absl::Duration kDrainTimeout = absl::Seconds(1);

// SSL_read and SSL_write take an int.
constexpr size_t kMostTlsBytes = size_t{1} << 30;

constexpr char kPlainText[] =
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 36\r\n\r\n"
    "scheme: got http; wanted https here\n";
constexpr char kHeaderTooLarge[] =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

// The length of the header in `text`, with the empty line that ends it, or 0 if it has no end yet.
size_t HeaderSize(absl::string_view text, size_t from) {
  for (size_t at = text.find('\n', from); at != absl::string_view::npos; at = text.find('\n', at + 1)) {
    const absl::string_view rest = text.substr(at + 1);
    if (absl::StartsWith(rest, "\r\n")) {
      return at + 3;
    }
    if (absl::StartsWith(rest, "\n")) {
      return at + 2;
    }
  }
  return 0;
}

// Removes the lines that begin with "range:", and the encoding "br" from those that begin with "accept-encoding:": the
// library would compress by brotli's slowest level, which takes a second for half a megabyte. The first line is the
// request's.
void CutHeader(size_t header_size, std::string* text) {
  size_t line = text->find('\n') + 1;
  while (line < header_size) {
    const size_t next = text->find('\n', line) + 1;
    if (absl::StartsWithIgnoreCase(absl::string_view(*text).substr(line), "range:")) {
      text->erase(line, next - line);
      header_size -= next - line;
      continue;
    }
    if (absl::StartsWithIgnoreCase(absl::string_view(*text).substr(line), "accept-encoding:")) {
      for (size_t at = text->find("br", line); at < next; at = text->find("br", at)) {
        (*text)[at] = '-';
      }
    }
    line = next;
  }
}

// Says that a POST without a length has no body (RFC 9112, section 6.3): the library would read until the client
// closes.
void AddLength(size_t header_size, std::string* text) {
  const std::string header = absl::AsciiStrToLower(absl::string_view(*text).substr(0, header_size));
  if (absl::StartsWith(header, "post ") && !absl::StrContains(header, "\ncontent-length:") &&
      !absl::StrContains(header, "\ntransfer-encoding:")) {
    text->insert(header.find('\n') + 1, "Content-Length: 0\r\n");
  }
}

}  // namespace

HttpConnection::HttpConnection(int socket, int wake, const HttpServerOptions& options, const TlsServer* tls)
    : socket_(socket),
      wake_(wake),
      options_(options),
      context_(tls == nullptr ? nullptr : tls->context()),
      tls_(context_ == nullptr ? nullptr : SSL_new(context_.get()), SSL_free),
      read_deadline_(options.read_timeout) {}

HttpConnection::~HttpConnection() {
  close(socket_);
}

std::string HttpConnection::peer() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  char host[NI_MAXHOST] = {};
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool known = getpeername(socket_, any, &size) == 0 &&
                     getnameinfo(any, size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) == 0;
  return known ? host : "";
}

bool HttpConnection::Await(short event, const Deadline& deadline) const {
  for (;;) {
    pollfd waits[] = {{socket_, event, 0}, {wake_, POLLIN, 0}};
    const int ready = poll(waits, 2, static_cast<int>(absl::ToInt64Milliseconds(deadline.Left())));
    if (ready == 0 || waits[1].revents != 0 || (ready < 0 && errno != EINTR)) {
      return false;
    }
    if (ready > 0 && waits[0].revents != 0) {
      return true;
    }
  }
}

ssize_t HttpConnection::Repeat(const std::function<int()>& call, const Deadline& deadline) const {
  for (;;) {
    ERR_clear_error();
    const int result = call();
    if (result > 0) {
      return result;
    }
    const int error = SSL_get_error(tls_.get(), result);
    if (error == SSL_ERROR_ZERO_RETURN) {
      return 0;
    }
    const bool waits = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (!waits || !Await(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline)) {
      return -1;
    }
  }
}

bool HttpConnection::ShakeHands() {
  if (context_ == nullptr) {
    return true;
  }
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), socket_) != 1) {
    return false;
  }
  agreed_ = Repeat([this] { return SSL_accept(tls_.get()); }, read_deadline_) > 0;
  if (!agreed_ && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST) {
    SendPlain(kPlainText, std::strlen(kPlainText), Deadline(options_.write_timeout));
    Finish();
  }
  ERR_clear_error();
  return agreed_;
}

std::vector<std::string> HttpConnection::CertificateNames() const {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(agreed_ ? SSL_get_peer_certificate(tls_.get()) : nullptr,
                                                           X509_free);
  return certificate == nullptr ? std::vector<std::string>() : NamesOf(certificate.get());
}

ssize_t HttpConnection::Receive(char* to, size_t size) {
  if (agreed_) {
    return Repeat([&] { return SSL_read(tls_.get(), to, static_cast<int>(std::min<size_t>(size, kMostTlsBytes))); },
                  read_deadline_);
  }
  for (;;) {
    const ssize_t received = recv(socket_, to, size, 0);
    if (received >= 0) {
      return received;
    }
    if (errno != EINTR && ((errno != EAGAIN && errno != EWOULDBLOCK) || !Await(POLLIN, read_deadline_))) {
      return -1;
    }
  }
}

bool HttpConnection::ReadHeader() {
  char piece[kPieceBytes];
  size_t header_size = 0;
  while (header_size == 0) {
    const ssize_t received = Receive(piece, sizeof(piece));
    if (received <= 0) {
      return false;
    }
    // The end may lie across two pieces.
    const size_t from = ahead_.size() - std::min<size_t>(ahead_.size(), 3);
    ahead_.append(piece, static_cast<size_t>(received));
    header_size = HeaderSize(ahead_, from);
    if (std::max(header_size, header_size == 0 ? ahead_.size() : 0) > options_.max_header_bytes) {
      Write(kHeaderTooLarge, std::strlen(kHeaderTooLarge));
      Finish();
      return false;
    }
  }
  body_left_ = options_.max_body_bytes * kBodyOverhead + kPieceBytes;
  AddLength(header_size, &ahead_);
  CutHeader(HeaderSize(ahead_, 0), &ahead_);
  return true;
}

ssize_t HttpConnection::Read(char* to, size_t size) {
  if (returned_ < ahead_.size()) {
    const size_t some = std::min(size, ahead_.size() - returned_);
    std::memcpy(to, ahead_.data() + returned_, some);
    returned_ += some;
    return static_cast<ssize_t>(some);
  }
  if (body_left_ == 0) {
    return -1;
  }
  const ssize_t received = Receive(to, std::min(size, body_left_));
  body_left_ -= received > 0 ? static_cast<size_t>(received) : 0;
  return received;
}

bool HttpConnection::AwaitReadable() {
  return returned_ < ahead_.size() || (agreed_ && SSL_pending(tls_.get()) > 0) ||
         (body_left_ > 0 && Await(POLLIN, read_deadline_));
}

ssize_t HttpConnection::Write(const char* from, size_t size) {
  if (!write_deadline_.has_value()) {
    write_deadline_.emplace(options_.write_timeout);
  }
  size_t written = 0;
  while (written < size) {
    const ssize_t sent = Send(from + written, size - written, *write_deadline_);
    if (sent < 0) {
      return -1;
    }
    written += static_cast<size_t>(sent);
  }
  return static_cast<ssize_t>(size);
}

ssize_t HttpConnection::Send(const char* from, size_t size, const Deadline& deadline) {
  if (!agreed_) {
    return SendPlain(from, size, deadline);
  }
  const ssize_t sent = Repeat(
      [&] { return SSL_write(tls_.get(), from, static_cast<int>(std::min<size_t>(size, kMostTlsBytes))); }, deadline);
  return sent > 0 ? sent : -1;
}

ssize_t HttpConnection::SendPlain(const char* from, size_t size, const Deadline& deadline) const {
  for (;;) {
    const ssize_t sent = send(socket_, from, size, MSG_NOSIGNAL);
    if (sent >= 0) {
      return sent;
    }
    if (errno != EINTR && ((errno != EAGAIN && errno != EWOULDBLOCK) || !Await(POLLOUT, deadline))) {
      return -1;
    }
  }
}

void HttpConnection::Finish() {
  if (agreed_) {
    ERR_clear_error();
    SSL_shutdown(tls_.get());  // Says that the answer is whole.
    ERR_clear_error();
  }
  shutdown(socket_, SHUT_WR);
  const Deadline deadline(kDrainTimeout);
  char piece[kPieceBytes];
  for (int i = 0; i < kMostDrains; ++i) {
    const ssize_t received = recv(socket_, piece, sizeof(piece), 0);
    if (received == 0 ||
        (received < 0 && errno != EINTR && ((errno != EAGAIN && errno != EWOULDBLOCK) || !Await(POLLIN, deadline)))) {
      return;
    }
  }
}

}  // namespace waggle
