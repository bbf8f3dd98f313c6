#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/net/security/access_role.h"

namespace waggle {

// A caller: its name for logs, quotas and limits, and its roles.
struct Caller {
  std::string name;
  AccessRoles roles;
};

// The callers of a server, by their certificates' names and by their tokens.
class AccessList {
 public:
  // Without callers: a certificate with the name ROLE.waggle, such as worker.waggle, has that role.
  AccessList() = default;

  // INVALID_ARGUMENT if another caller has one of the tokens or of the certificates' names.
  absl::Status Add(const Caller& caller, const std::vector<std::string>& token_hashes,
                   const std::vector<std::string>& certificates);

  // Nothing if no caller has the token.
  std::optional<Caller> ByToken(absl::string_view token) const;

  // The caller with one of these names, which are those of a verified certificate: its DNS names, URIs and common name.
  // Roles of several names add up. Nothing if no name has a caller.
  std::optional<Caller> ByCertificate(const std::vector<std::string>& names) const;

  size_t num_callers() const { return num_callers_; }

 private:
  size_t num_callers_ = 0;
  // The hash is searched, so the time of a search says nothing about tokens.
  std::map<std::string, Caller, std::less<>> by_token_hash_;
  std::map<std::string, Caller, std::less<>> by_certificate_;
};

// An access list keeps hashes of tokens: this prefix and hexadecimal digits.
inline constexpr absl::string_view kTokenHashPrefix = "sha256:";
inline constexpr size_t kTokenHashDigits = 64;
std::string TokenHash(absl::string_view token);

// A new token of 256 random bits.
absl::StatusOr<std::string> NewToken();

// The token in a file, which ends with the first line. FAILED_PRECONDITION if other users can read the file or it is
// empty.
absl::StatusOr<std::string> ReadToken(const std::string& file);

}  // namespace waggle
