#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/net/security/access_list.h"

namespace waggle {

// Reads the YAML file of `--access`:
//
//   callers:
//     ann: {roles: [submitter], tokens: ["sha256:9f86d0…"]}
//     eval: {roles: [worker], certificates: [eval.example.org]}
//
// INVALID_ARGUMENT names each wrong key with its line.
absl::StatusOr<AccessList> LoadAccessList(const std::string& file);

}  // namespace waggle
