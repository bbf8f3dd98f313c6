#include "common/hub/hub_requests.h"

#include <unistd.h>

#include <climits>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/machine_memory.h"
#include "common/base/metrics/process_only.h"
#include "common/base/steady_now.h"
#include "common/base/utf8.h"

namespace waggle {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

std::string NewWorkerId(const std::string& kind) {
  std::random_device random;
  const uint64_t number = (static_cast<uint64_t>(random()) << 32) | random();
  return absl::StrCat(kind, "-", getpid(), "-", absl::Hex(number, absl::kZeroPad16));
}

void FillFigures(const HubClientOptions& options, v1::HeartbeatRequest* request) {
  if (options.metrics != nullptr) {
    const Metrics::Snapshot snapshot = options.metrics->TakeSnapshot();
    request->set_activity(snapshot.activity);
    request->set_last_error(std::string(Utf8Prefix(AsUtf8(snapshot.last_error), kMaxFailureBytes)));
    const auto insert = [](const std::map<std::string, double>& figures, auto* to) {
      for (const auto& [name, value] : figures) {
        if (!IsProcessOnly(name)) {
          (*to)[name] = value;
        }
      }
    };
    insert(snapshot.counters, request->mutable_counters());
    insert(snapshot.gauges, request->mutable_gauges());
    (*request->mutable_gauges())["resident_bytes"] = static_cast<double>(ResidentBytes());
  }
  // Not the wall clock: rates divide by the difference of two such times.
  request->set_taken_at_us(absl::ToInt64Microseconds(SteadyElapsed()));
}

}  // namespace waggle
