#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/api/hub.h"
#include "common/base/stop_token.h"

namespace waggle {

// As hub->WaitUntil, until `stop`. What is not there yet is waited for with a word in the log, and so is what
// follows: `what` is a noun, such as "an experiment".
absl::StatusOr<Assignment> AwaitHub(HubLink* hub, absl::string_view what, const StopToken& stop,
                                    const std::function<bool(const Assignment&)>& condition);

}  // namespace waggle
