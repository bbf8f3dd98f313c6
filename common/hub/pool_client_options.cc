#include <cstdint>
#include <limits>
#include <string>

#include "common/base/host_port.h"
#include "common/base/problems.h"
#include "common/hub/pool_client.h"

namespace waggle {

absl::Status PoolClientOptions::Validate() const {
  Problems problems;
  problems.AddIfBad("hub_address: ", ValidateHostPort(hub_address));
  if (!address.empty()) {
    problems.AddIfBad("address: ", ValidateReachable(address));
  } else if (kind == WorkerKind::kReplayServer || kind == WorkerKind::kGradient) {
    problems.Add("address: got none; wanted one, which a ", WorkerKindName(kind), " needs");
  }
  problems.AddUnless(!wanted_index.has_value() || (*wanted_index >= 0 && *wanted_index <= kMaxPoolIndex),
                     "wanted_index: got ", wanted_index.value_or(0), "; wanted 0 to ", kMaxPoolIndex);
  problems.AddUnless(capacity >= 1 && capacity <= kMaxPoolCapacity, "capacity: got ", capacity, "; wanted 1 to ",
                     kMaxPoolCapacity);
  problems.AddUnless(resources.cores >= 0 && resources.cores <= std::numeric_limits<int32_t>::max(),
                     "resources.cores: got ", resources.cores, "; wanted 0 to 2^31 - 1");
  problems.AddUnlessAtLeast("resources.memory_bytes", resources.memory_bytes, 0);
  problems.AddUnless(grace >= absl::ZeroDuration(), "grace: got ", absl::FormatDuration(grace), "; wanted at least 0");
  return problems.ToStatus("", "; ");
}

HubClientOptions HubOptionsOf(const std::string& hub_address, const WorkOrder& order,
                              const std::string& run_worker_id) {
  HubClientOptions options;
  options.hub_address = hub_address;
  options.experiment_id = order.experiment_id;
  options.worker_id = run_worker_id;
  return options;
}

}  // namespace waggle
