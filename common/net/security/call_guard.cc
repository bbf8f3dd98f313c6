#include "common/net/security/call_guard.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/guard.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/utf8.h"
#include "common/net/security/method_access.h"
#include "common/net/status_convert.h"

namespace waggle {
namespace {

constexpr char kAuthorization[] = "authorization";
constexpr char kBearer[] = "Bearer ";
constexpr size_t kMostLoggedBytes = 200;

std::string ToText(grpc::string_ref text) {
  return std::string(text.data(), text.size());
}

std::string HeaderOf(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata, const char* name) {
  const auto found = metadata.find(name);
  return found == metadata.end() ? "" : ToText(found->second);
}

absl::Status Refuse(SecurityRefusals::Reason reason, SecurityRefusals* refusals, absl::Status status) {
  refusals->Count(reason);
  return status;
}

}  // namespace

const char* SecurityRefusals::Name(Reason reason) {
  switch (reason) {
    case kHandshake:
      return "handshake";
    case kNoCaller:
      return "no_caller";
    case kUnknownToken:
      return "unknown_token";
    case kUnknownCertificate:
      return "unknown_certificate";
    case kRole:
      return "role";
    case kUnknownMethod:
      return "unknown_method";
    case kRate:
      return "rate";
  }
  return "unknown";
}

absl::StatusOr<Caller> Identify(const CallFacts& call, const AccessList& list, SecurityRefusals* refusals) {
  if (!call.authorization.empty()) {
    const absl::string_view token = absl::StripPrefix(call.authorization, kBearer);
    std::optional<Caller> caller = absl::StartsWith(call.authorization, kBearer) ? list.ByToken(token) : std::nullopt;
    if (!caller.has_value()) {
      return Refuse(SecurityRefusals::kUnknownToken, refusals,
                    absl::UnauthenticatedError("token: got one that this server does not know; wanted one whose hash "
                                               "is in its --access file"));
    }
    return *std::move(caller);
  }
  if (call.certificate_names.empty()) {
    return Refuse(SecurityRefusals::kNoCaller, refusals,
                  absl::UnauthenticatedError("caller: got neither a certificate nor a token; wanted tls.crt and "
                                             "tls.key in --tls, or --token-file"));
  }
  std::optional<Caller> caller = list.ByCertificate(call.certificate_names);
  if (!caller.has_value()) {
    return Refuse(SecurityRefusals::kUnknownCertificate, refusals,
                  absl::UnauthenticatedError(absl::StrCat("certificate: got one for ", call.certificate_names[0],
                                                          ", which has no role here; wanted a name such as "
                                                          "worker.waggle, or one in the server's --access file")));
  }
  return *std::move(caller);
}

absl::StatusOr<Caller> LetIn(const CallFacts& call, const AccessList& list, SecurityRefusals* refusals) {
  const MethodAccess* const method = FindMethod(call.path);
  if (method == nullptr) {
    return Refuse(SecurityRefusals::kUnknownMethod, refusals,
                  absl::UnimplementedError(absl::StrCat("method: got ", call.path, "; wanted one of this version")));
  }
  if (method->anyone && call.authorization.empty()) {
    return Caller();
  }
  WAGGLE_ASSIGN_OR_RETURN(Caller caller, Identify(call, list, refusals));
  return method->anyone ? caller : CheckRole(std::move(caller), method->roles, call, refusals);
}

absl::StatusOr<Caller> CheckRole(Caller caller, AccessRoles roles, const CallFacts& call, SecurityRefusals* refusals) {
  if (caller.roles.Has(AccessRole::kAdmin) || caller.roles.Intersects(roles)) {
    return caller;
  }
  return Refuse(SecurityRefusals::kRole, refusals,
                absl::PermissionDeniedError(absl::StrCat("role: got ", caller.roles.DebugString(), " of ", caller.name,
                                                         "; wanted ", (roles | AccessRole::kAdmin).DebugString(),
                                                         " for ", absl::StripPrefix(call.path, "/waggle.v1."))));
}

CallFacts FactsOf(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata, const grpc::AuthContext& context,
                  std::string path) {
  CallFacts call;
  call.path = std::move(path);
  call.authorization = HeaderOf(metadata, kAuthorization);
  for (const char* const property : {GRPC_X509_SAN_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : context.FindPropertyValues(property)) {
      call.certificate_names.push_back(ToText(name));
    }
  }
  return call;
}

grpc::Status CallGuard::Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* /*consumed*/,
                                OutputMetadata* /*response*/) {
  // The context is the connection's and must not change: several callers may share a connection.
  return ToGrpcStatus(GuardedStatus([&]() -> absl::Status {
    const CallFacts call = FactsOf(metadata, *context, HeaderOf(metadata, ":path"));
    const absl::StatusOr<Caller> caller = LetIn(call, *list_(), refusals_);
    absl::Status status = caller.status();
    if (caller.ok() && !caller->name.empty() && !caller->roles.Intersects(AccessRole::kWorker | AccessRole::kAdmin) &&
        !rates_.Take(caller->name)) {
      refusals_->Count(SecurityRefusals::kRate);
      status = absl::ResourceExhaustedError(
          absl::StrCat("calls: got more than ", kCallRate.per_second, " a second of ", caller->name, "; wanted fewer"));
    }
    static std::atomic<int64_t> logged{-1};
    // One a second: strangers must not fill the log.
    if (const int64_t second = absl::ToInt64Seconds(SteadyElapsed());
        !status.ok() && logged.exchange(second) != second) {
      LogWarning("refused a call of ", Utf8Prefix(call.path, kMostLoggedBytes), ": ", status.message());
    }
    return status;
  }));
}

}  // namespace waggle
