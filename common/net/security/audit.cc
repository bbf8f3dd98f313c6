#include "common/net/security/audit.h"

#include <string>

#include "common/base/log.h"
#include "common/base/log_context.h"

namespace waggle {

void LogAudit(absl::string_view what, absl::string_view which, const absl::Status& result) {
  const std::string caller = ThreadCaller();
  LogInfo("audit: ", caller.empty() ? "a caller without a name" : caller, ": ", what, " ", which, ": ",
          result.ok() ? "OK" : result.message());
}

}  // namespace waggle
