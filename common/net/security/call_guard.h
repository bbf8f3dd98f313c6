#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/support/string_ref.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/net/security/access_list.h"
#include "common/net/security/peer_rates.h"

namespace waggle {

// Why calls and connections were refused. Counters of a process. Thread-safe.
class SecurityRefusals {
 public:
  enum Reason { kHandshake, kNoCaller, kUnknownToken, kUnknownCertificate, kRole, kUnknownMethod, kRate };
  static constexpr int kReasons = 7;

  // "handshake", "no_caller", "unknown_token", "unknown_certificate", "role", "unknown_method",
  // "rate".
  static const char* Name(Reason reason);

  void Count(Reason reason) { counts_[reason].fetch_add(1, std::memory_order_relaxed); }
  int64_t count(Reason reason) const { return counts_[reason].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<int64_t>, kReasons> counts_{};
};

// The facts of a call by which it is let in.
struct CallFacts {
  std::string path;                            // "/waggle.v1.ReplayService/Insert".
  std::string authorization;                   // The header's value; empty without one.
  std::vector<std::string> certificate_names;  // The verified certificate's; empty without one.
};

// The caller, if it may call the method. UNAUTHENTICATED without a known certificate or token; PERMISSION_DENIED for a
// role that may not; UNIMPLEMENTED for a method without a row. Errors are counted. A token counts before a certificate.
absl::StatusOr<Caller> LetIn(const CallFacts& call, const AccessList& list, SecurityRefusals* refusals);

// The caller, if it has one of these roles or is an admin; else PERMISSION_DENIED, which is counted.
absl::StatusOr<Caller> CheckRole(Caller caller, AccessRoles roles, const CallFacts& call, SecurityRefusals* refusals);

// The caller of a call that was let in. UNAUTHENTICATED as above.
absl::StatusOr<Caller> Identify(const CallFacts& call, const AccessList& list, SecurityRefusals* refusals);

// Lets calls in, before a server's handlers see them. Thread-safe; does not block.
class CallGuard final : public grpc::AuthMetadataProcessor {
 public:
  // Calls of one caller that is neither a worker nor an admin. Beyond it they end with RESOURCE_EXHAUSTED.
  static constexpr PeerRateOptions kCallRate = {100, 1000};

  // `list` returns the present list; it is called for each call.
  CallGuard(std::function<std::shared_ptr<const AccessList>()> list, SecurityRefusals* refusals)
      : list_(std::move(list)), refusals_(refusals) {}

  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* consumed,
                       OutputMetadata* response) override;

 private:
  const std::function<std::shared_ptr<const AccessList>()> list_;
  SecurityRefusals* const refusals_;
  PeerRates rates_{kCallRate};
};

// The facts of a call, from its metadata and its connection's certificate.
CallFacts FactsOf(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata, const grpc::AuthContext& context,
                  std::string path);

}  // namespace waggle
