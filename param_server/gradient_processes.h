#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/base/stop_token.h"
#include "param_server/gradients/primary_process.h"

namespace waggle {

struct GradientProcessOptions {
  std::string listen;
  std::string hub_address;
  std::string advertise;         // Empty: the address listened on.
  std::optional<int64_t> index;  // A reducer's.
  PrimaryProcessOptions primary;
};

// A gradient server's processes, from the first socket to the goodbye: see RunPrimary and RunReducer.
absl::Status ServePrimary(const GradientProcessOptions& options, const StopToken& stop);
absl::Status ServeReducer(const GradientProcessOptions& options, const StopToken& stop);

}  // namespace waggle
