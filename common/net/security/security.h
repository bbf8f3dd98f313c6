#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "absl/base/call_once.h"
#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/net/security/access_list.h"
#include "common/net/security/call_guard.h"
#include "common/net/security/certificates.h"
#include "common/net/security/security_options.h"
#include "common/net/security/tls_server.h"

namespace waggle {

// The certificates, tokens and callers of a process. Replaced files are read again while it runs: new connections use
// the new certificate, and open ones stay. A thread logs what was read. Thread-safe.
class Security {
 public:
  // FAILED_PRECONDITION, naming the file and what is wrong, for certificates that could not work; INVALID_ARGUMENT for
  // a wrong access file, and for an access or a token file without `tls`: tokens would travel in plain text.
  static absl::StatusOr<std::unique_ptr<Security>> Open(const SecurityOptions& options);
  ~Security();
  Security(const Security&) = delete;
  Security& operator=(const Security&) = delete;

  // The credentials of all channels of the process.
  const std::shared_ptr<grpc::ChannelCredentials>& channel_credentials();

  // The credentials of a server at HOST:PORT. FAILED_PRECONDITION without a certificate, or for plain text beyond this
  // machine.
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsFor(const std::string& listen);

  // The TLS of a server at HOST:PORT that is not gRPC's; null for plain text. Errors as ServerCredentialsFor. It lives
  // as long as this.
  absl::StatusOr<const TlsServer*> TlsFor(const std::string& listen) ABSL_LOCKS_EXCLUDED(mutex_);
  // The caller of a request to such a server, if it has one of these roles or is an admin. The path of `call` is for
  // messages. Errors are those of LetIn, and are counted.
  absl::StatusOr<Caller> LetInAs(AccessRoles roles, const CallFacts& call) ABSL_LOCKS_EXCLUDED(mutex_);

  // The caller of a call to a server of this process; without a name on a connection without encryption.
  Caller CallerOf(const grpc::ServerContextBase& context);

  const SecurityOptions& options() const { return options_; }
  const SecurityRefusals& refusals() const { return refusals_; }
  SecurityRefusals* mutable_refusals() { return &refusals_; }

 private:
  explicit Security(const SecurityOptions& options) : options_(options) {}

  absl::Status Load();
  // OK if a server of plain text may listen at HOST:PORT: FAILED_PRECONDITION unless that is on this machine, or
  // `insecure` is set, which is logged.
  absl::Status AllowPlainText(const std::string& listen) const;
  // Checks that the process can serve at HOST:PORT with its certificate, and logs it.
  absl::Status CheckCanServe(const std::string& listen) const;
  // Threads start here, at the first use: a process blocks signals before it starts threads.
  void Begin();
  // Lets servers that are not gRPC's take replaced files.
  void ReloadTls() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reads files that have changed, and logs it, until the end.
  void WatchFiles();
  std::shared_ptr<const AccessList> access_list() ABSL_LOCKS_EXCLUDED(mutex_);

  const SecurityOptions options_;
  CertificateFiles files_;
  std::string token_;
  absl::once_flag begun_;
  std::shared_ptr<grpc::ChannelCredentials> channel_credentials_;
  SecurityRefusals refusals_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const AccessList> list_ ABSL_GUARDED_BY(mutex_) = std::make_shared<AccessList>();
  std::unique_ptr<TlsServer> tls_server_ ABSL_GUARDED_BY(mutex_);  // Null before TlsFor needs it.
  Thread thread_;                                                  // Last: it uses everything above.
};

// The security of this process's channels and servers that are given no other: plain text on this machine alone,
// before SetProcessSecurity. Never destroyed.
Security& ProcessSecurity();

// Called once, before the first channel and server.
absl::Status SetProcessSecurity(const SecurityOptions& options);

}  // namespace waggle
