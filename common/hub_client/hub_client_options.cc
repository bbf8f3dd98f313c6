// No test of its own: tests/common/hub_client/hub_client_test.cc sees it through JoinHub.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/host_port.h"
#include "common/hub_client/hub_client.h"

namespace waggle {
namespace {

constexpr int64_t kMaxIndex = 1'000'000;  // The hub allows fewer; this much fits into the request.

}  // namespace

absl::Status HubClientOptions::Validate() const {
  std::vector<std::string> errors;
  const auto check = [&errors](const char* field, const absl::Status& status) {
    if (!status.ok()) {
      errors.push_back(absl::StrCat(field, ": ", status.message()));
    }
  };
  check("hub_address", ValidateHostPort(hub_address));
  if (!address.empty()) {
    check("address", ValidateReachable(address));
  } else if (role == Role::kReplayServer || role == Role::kReducer) {
    errors.push_back(
        absl::StrCat("address: a ", role == Role::kReducer ? "reducer" : "replay server", " must say where it serves"));
  }
  if (index.has_value() && (*index < 0 || *index > kMaxIndex)) {
    errors.push_back(absl::StrCat("index: ", *index, " is not in 0 to ", kMaxIndex));
  }
  if (give_up_after < absl::ZeroDuration()) {
    errors.push_back(absl::StrCat("give_up_after: ", absl::FormatDuration(give_up_after), " is negative"));
  }
  return errors.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

}  // namespace waggle
