#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace waggle {

// The kinds of callers. A method names those that may call it.
enum class AccessRole : uint8_t {
  kReader = 1 << 0,     // Reads states, figures and results.
  kSubmitter = 1 << 1,  // Also submits, stops, changes and deletes experiments.
  kWorker = 1 << 2,     // A process of the pool, or a program that uses a replay server.
  kAdmin = 1 << 3,      // Calls every method.
};

// A set of roles.
class AccessRoles {
 public:
  constexpr AccessRoles() = default;
  constexpr AccessRoles(AccessRole role) : bits_(static_cast<uint8_t>(role)) {}  // NOLINT: a role is a set of one.

  constexpr AccessRoles operator|(AccessRoles other) const { return FromBits(bits_ | other.bits_); }
  constexpr bool Intersects(AccessRoles other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool Has(AccessRole role) const { return Intersects(role); }
  constexpr bool empty() const { return bits_ == 0; }

  // "reader, worker"; "none" without a role.
  std::string DebugString() const;

 private:
  static constexpr AccessRoles FromBits(int bits) {
    AccessRoles roles;
    roles.bits_ = static_cast<uint8_t>(bits);
    return roles;
  }
  uint8_t bits_ = 0;
};

constexpr AccessRoles operator|(AccessRole a, AccessRole b) {
  return AccessRoles(a) | AccessRoles(b);
}

inline constexpr AccessRole kAllAccessRoles[] = {AccessRole::kReader, AccessRole::kSubmitter, AccessRole::kWorker,
                                                 AccessRole::kAdmin};

// "reader", "submitter", "worker", "admin".
const char* AccessRoleName(AccessRole role);
std::optional<AccessRole> AccessRoleOf(absl::string_view name);

}  // namespace waggle
