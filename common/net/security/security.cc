#include "common/net/security/security.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

using grpc::experimental::FileWatcherCertificateProvider;

constexpr absl::Duration kSoon = absl::Hours(7 * 24);

// A text that changes when one of the files is replaced, also by a symbolic link to another folder.
std::string StateOf(const std::vector<std::string>& files) {
  std::string state;
  for (const std::string& file : files) {
    struct stat info = {};
    if (!file.empty() && stat(file.c_str(), &info) == 0) {
      absl::StrAppend(&state, info.st_ino, ":", info.st_size, ":", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ";");
    }
  }
  return state;
}

// True for a HOST:PORT that other machines cannot reach.
bool IsOnThisMachine(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  return absl::StartsWith(host, "127.") || host == "[::1]" || host == "localhost";
}

std::shared_ptr<FileWatcherCertificateProvider> NewProvider(const CertificateFiles& files, absl::Duration period) {
  const auto seconds = static_cast<unsigned int>(std::max<int64_t>(1, absl::ToInt64Seconds(period)));
  return files.key.empty() ? std::make_shared<FileWatcherCertificateProvider>(files.authorities, seconds)
                           : std::make_shared<FileWatcherCertificateProvider>(files.key, files.certificate,
                                                                              files.authorities, seconds);
}

void LogCertificate(const CertificateFiles& files, const CertificateFacts& facts) {
  LogInfo("TLS with the certificate ", files.certificate, " for ", absl::StrJoin(facts.names, ", "), ", until ",
          absl::FormatTime(facts.expires, absl::UTCTimeZone()), ", SHA-256 ", facts.fingerprint);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Security>> Security::Open(const SecurityOptions& options) {
  std::unique_ptr<Security> security(new Security(options));
  WAGGLE_RETURN_IF_ERROR(security->Load());
  return security;
}

Security::~Security() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    wake_.SignalAll();
  }
  thread_.Join();
}

absl::Status Security::Load() {
  if (options_.tls.empty()) {
    for (const auto& [flag, value] :
         {std::pair("--access", &options_.access), std::pair("--token-file", &options_.token_file)}) {
      if (!value->empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            flag, ": got ", *value, " without --tls; wanted both, because tokens must not travel in plain text"));
      }
    }
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(files_, FindCertificates(options_.tls));
  WAGGLE_RETURN_IF_ERROR(CheckCertificates(files_, absl::Now()).status());
  if (!options_.access.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(AccessList list, options_.load_access(options_.access));
    MutexLock lock(&mutex_);
    list_ = std::make_shared<AccessList>(std::move(list));
  }
  if (!options_.token_file.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(token_, ReadToken(options_.token_file));
  }
  return absl::OkStatus();
}

void Security::Begin() {
  if (options_.tls.empty()) {
    channel_credentials_ = grpc::InsecureChannelCredentials();
    return;
  }
  grpc::experimental::TlsChannelCredentialsOptions tls;
  tls.set_certificate_provider(NewProvider(files_, options_.reload_period));
  tls.watch_root_certs();
  if (!files_.key.empty()) {
    tls.watch_identity_key_cert_pairs();
  }
  channel_credentials_ = grpc::experimental::TlsCredentials(tls);
  if (!token_.empty()) {
    channel_credentials_ =
        grpc::CompositeChannelCredentials(channel_credentials_, grpc::AccessTokenCredentials(token_));
  }
  thread_ = Thread("certificates", [this] { WatchFiles(); });
}

const std::shared_ptr<grpc::ChannelCredentials>& Security::channel_credentials() {
  absl::call_once(begun_, [this] { Begin(); });
  return channel_credentials_;
}

void Security::WatchFiles() {
  const std::vector<std::string> certificates = {files_.authorities, files_.certificate, files_.key};
  std::string certificates_state = StateOf(certificates);
  std::string access_state = StateOf({options_.access});
  absl::Time told = absl::InfinitePast();  // A certificate that ends soon is named once a day.
  MutexLock lock(&mutex_);
  while (!stopping_) {
    wake_.WaitFor(&mutex_, options_.reload_period);
    mutex_.Unlock();
    const absl::Time now = absl::Now();
    const std::string new_state = StateOf(certificates);
    const bool replaced = new_state != certificates_state;
    certificates_state = new_state;
    if (replaced || now - told > absl::Hours(24)) {
      const absl::StatusOr<CertificateFacts> facts = CheckCertificates(files_, now);
      if (!facts.ok()) {
        LogError("TLS: new connections will fail: ", facts.status().message());
      } else if (replaced && !files_.certificate.empty()) {
        LogCertificate(files_, *facts);
        ReloadTls();
      }
      if (facts.ok() && facts->expires - now < kSoon) {
        LogWarning("TLS: the certificate ", files_.certificate, " ends at ",
                   absl::FormatTime(facts->expires, absl::UTCTimeZone()));
      }
      told = now;
    }
    const std::string new_access_state = StateOf({options_.access});
    std::shared_ptr<const AccessList> list;
    if (new_access_state != access_state) {
      access_state = new_access_state;
      absl::StatusOr<AccessList> read = options_.load_access(options_.access);
      if (read.ok()) {
        LogInfo("read ", options_.access, " again: ", read->num_callers(), " callers");
        list = std::make_shared<AccessList>(*std::move(read));
      } else {
        LogError("the earlier callers stay, because the new access file is wrong: ", read.status().message());
      }
    }
    mutex_.Lock();
    list_ = list != nullptr ? std::move(list) : list_;
  }
}

std::shared_ptr<const AccessList> Security::access_list() {
  MutexLock lock(&mutex_);
  return list_;
}

void Security::ReloadTls() {
  TlsServer* server = nullptr;
  {
    MutexLock lock(&mutex_);
    server = tls_server_.get();
  }
  if (server == nullptr) {
    return;
  }
  if (const absl::Status read = server->Reload(); !read.ok()) {
    LogError("TLS: ", read.message());
  }
}

absl::Status Security::AllowPlainText(const std::string& listen) const {
  if (IsOnThisMachine(listen)) {
    return absl::OkStatus();
  }
  if (!options_.insecure) {
    return absl::FailedPreconditionError(absl::StrCat(
        "got ", listen,
        " for plain text; wanted an address of this machine alone, such as 127.0.0.1:7000, --tls with certificates, or "
        "--insecure if every program that reaches the port may use it"));
  }
  LogWarning("--insecure: ", listen, " serves plain text to every program that reaches it");
  return absl::OkStatus();
}

absl::Status Security::CheckCanServe(const std::string& listen) const {
  if (files_.key.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        options_.tls, ": got no tls.crt and tls.key; wanted both, because this process serves at ", listen));
  }
  WAGGLE_ASSIGN_OR_RETURN(const CertificateFacts facts, CheckCertificates(files_, absl::Now()));
  if (const std::string& name = options_.server_name;
      !name.empty() && std::find(facts.names.begin(), facts.names.end(), name) == facts.names.end()) {
    return absl::FailedPreconditionError(absl::StrCat(files_.certificate, ": got a certificate for ",
                                                      absl::StrJoin(facts.names, ", "), "; wanted one for ", name,
                                                      ", the --server-name that clients look for"));
  }
  LogCertificate(files_, facts);
  return absl::OkStatus();
}

absl::StatusOr<const TlsServer*> Security::TlsFor(const std::string& listen) {
  absl::call_once(begun_, [this] { Begin(); });
  if (options_.tls.empty()) {
    WAGGLE_RETURN_IF_ERROR(AllowPlainText(listen));
    return nullptr;
  }
  WAGGLE_RETURN_IF_ERROR(CheckCanServe(listen));
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<TlsServer> opened, TlsServer::Open(files_));
  MutexLock lock(&mutex_);
  if (tls_server_ == nullptr) {
    tls_server_ = std::move(opened);
  }
  return tls_server_.get();
}

absl::StatusOr<Caller> Security::LetInAs(AccessRoles roles, const CallFacts& call) {
  WAGGLE_ASSIGN_OR_RETURN(Caller caller, Identify(call, *access_list(), &refusals_));
  return CheckRole(std::move(caller), roles, call, &refusals_);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Security::ServerCredentialsFor(const std::string& listen) {
  absl::call_once(begun_, [this] { Begin(); });
  if (options_.tls.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(AllowPlainText(listen), "--listen"));
    return grpc::InsecureServerCredentials();
  }
  WAGGLE_RETURN_IF_ERROR(CheckCanServe(listen));
  grpc::experimental::TlsServerCredentialsOptions tls(NewProvider(files_, options_.reload_period));
  tls.watch_root_certs();
  tls.watch_identity_key_cert_pairs();
  // People have tokens instead of certificates; the guard refuses callers that have neither.
  tls.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  const std::shared_ptr<grpc::ServerCredentials> credentials = grpc::experimental::TlsServerCredentials(tls);
  credentials->SetAuthMetadataProcessor(std::make_shared<CallGuard>([this] { return access_list(); }, &refusals_));
  return credentials;
}

Caller Security::CallerOf(const grpc::ServerContextBase& context) {
  if (options_.tls.empty()) {
    return {};
  }
  SecurityRefusals ignored;  // The call was let in before.
  const absl::StatusOr<Caller> caller =
      Identify(FactsOf(context.client_metadata(), *context.auth_context(), ""), *access_list(), &ignored);
  return caller.ok() ? *caller : Caller();
}

namespace {

// Threads of gRPC outlive main.
std::atomic<Security*> of_process{nullptr};

Security* Default() {
  static Security* const plain = Security::Open({})->release();
  return plain;
}

}  // namespace

Security& ProcessSecurity() {
  Security* const set = of_process.load(std::memory_order_acquire);
  return set != nullptr ? *set : *Default();
}

absl::Status SetProcessSecurity(const SecurityOptions& options) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Security> security, Security::Open(options));
  of_process.store(security.release(), std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace waggle
