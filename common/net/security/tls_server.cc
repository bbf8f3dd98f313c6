#include "common/net/security/tls_server.h"

#include <openssl/err.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

absl::Status Refused(const std::string& file) {
  char why[256] = {};
  ERR_error_string_n(ERR_peek_last_error(), why, sizeof(why));
  ERR_clear_error();
  return absl::FailedPreconditionError(absl::StrCat(file, ": OpenSSL refuses it: ", why));
}

absl::StatusOr<std::shared_ptr<SSL_CTX>> NewContext(const CertificateFiles& files) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return Refused("TLS");
  }
  // Nothing of a connection is kept for later ones, so that each shows its certificate.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    return Refused(files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return Refused(files.key);
  }
  // A browser offers those of its certificates that these authorities have signed.
  STACK_OF(X509_NAME)* const authorities = SSL_load_client_CA_file(files.authorities.c_str());
  if (authorities == nullptr || SSL_CTX_load_verify_locations(context.get(), files.authorities.c_str(), nullptr) != 1) {
    return Refused(files.authorities);
  }
  SSL_CTX_set_client_CA_list(context.get(), authorities);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsServer>> TlsServer::Open(CertificateFiles files) {
  std::unique_ptr<TlsServer> server(new TlsServer(std::move(files)));
  WAGGLE_RETURN_IF_ERROR(server->Reload());
  return server;
}

absl::Status TlsServer::Reload() {
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<SSL_CTX> context, NewContext(files_));
  MutexLock lock(&mutex_);
  context_ = std::move(context);
  return absl::OkStatus();
}

std::shared_ptr<SSL_CTX> TlsServer::context() const {
  MutexLock lock(&mutex_);
  return context_;
}

}  // namespace waggle
