#include "common/base/host_port.h"
#include "common/base/problems.h"
#include "common/base/tensor/array_spec.h"
#include "common/hub/hub_client.h"

namespace waggle {

absl::Status HubClientOptions::Validate() const {
  Problems problems;
  problems.AddIfBad("hub_address: ", ValidateHostPort(hub_address));
  problems.AddIfBad("worker_id: ", ValidateName(worker_id));
  if (!address.empty()) {
    problems.AddIfBad("address: ", ValidateReachable(address));
  }
  return problems.ToStatus("", "; ");
}

}  // namespace waggle
