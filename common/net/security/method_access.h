#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/net/security/access_role.h"

namespace waggle {

// The roles that may call a method. Admins may call every method of the table.
struct MethodAccess {
  absl::string_view path;  // "/waggle.v1.ReplayService/Insert".
  AccessRoles roles;
  bool anyone = false;  // Callers without a certificate or a token too.
};

// Every method that Waggle's servers have; proto/check_methods.py compares it with the protos at each build. Methods
// that are not in the table are refused.
absl::Span<const MethodAccess> MethodTable();

// The row of a method, or null.
const MethodAccess* FindMethod(absl::string_view path);

}  // namespace waggle
