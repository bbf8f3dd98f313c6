#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"
#include "common/net/security/certificates.h"

namespace waggle {

// OpenSSL's settings for a server other than gRPC's. It has the process's certificate, takes TLS 1.2 or later, and asks
// for the client's certificate. A client without one is accepted; a wrong one fails the handshake. Thread-safe.
class TlsServer {
 public:
  // FAILED_PRECONDITION if OpenSSL refuses a file. `files` has a certificate.
  static absl::StatusOr<std::unique_ptr<TlsServer>> Open(CertificateFiles files);

  // Reads replaced files, for new connections. After an error the earlier certificate stays.
  absl::Status Reload() ABSL_LOCKS_EXCLUDED(mutex_);

  std::shared_ptr<SSL_CTX> context() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit TlsServer(CertificateFiles files) : files_(std::move(files)) {}

  const CertificateFiles files_;
  mutable Mutex mutex_;
  std::shared_ptr<SSL_CTX> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
