#include "common/net/security/access_role.h"

#include "absl/strings/str_cat.h"

namespace waggle {

const char* AccessRoleName(AccessRole role) {
  switch (role) {
    case AccessRole::kReader:
      return "reader";
    case AccessRole::kSubmitter:
      return "submitter";
    case AccessRole::kWorker:
      return "worker";
    case AccessRole::kAdmin:
      return "admin";
  }
  return "unknown";
}

std::optional<AccessRole> AccessRoleOf(absl::string_view name) {
  for (const AccessRole role : kAllAccessRoles) {
    if (name == AccessRoleName(role)) {
      return role;
    }
  }
  return std::nullopt;
}

std::string AccessRoles::DebugString() const {
  std::string text;
  for (const AccessRole role : kAllAccessRoles) {
    if (Has(role)) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", AccessRoleName(role));
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace waggle
