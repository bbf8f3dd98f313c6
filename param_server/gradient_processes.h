#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/metrics/metrics.h"
#include "common/base/process/pool_monitor.h"
#include "common/base/threads/stop_token.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/pool.h"
#include "common/net/server.h"
#include "param_server/gradients/gradient_runner.h"
#include "param_server/gradients/gradient_service.h"

namespace waggle {

struct GradientProcessOptions {
  std::string listen;
  std::string hub_address;
  std::string advertise;         // Empty: see ReachableAddress.
  std::optional<int64_t> index;  // Preferred index as a reducer.
  std::string metrics_listen;    // HOST:PORT for a Monitor; empty: none.
};

// The work of a gradient worker: each order makes it the primary or a reducer of an experiment (see RunPrimary and
// RunReducer). One order at a time.
class GradientWork final : public PoolWork {
 public:
  // Serves from now on: its health, and the gradients of its order. Errors as RpcServer::Start.
  // `monitor` outlives it.
  static absl::StatusOr<std::unique_ptr<GradientWork>> Start(const GradientProcessOptions& options,
                                                             PoolMonitor* monitor);

  // The listening address, HOST:PORT.
  const std::string& address() const { return server_->address(); }

  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override;

 private:
  GradientWork(const GradientProcessOptions& options, PoolMonitor* monitor);

  absl::Status Step(const WorkOrder& order, HubLink* hub, Metrics* metrics, GradientRunner* runner,
                    std::function<void(GradientModel)> serve) const;
  absl::Status Reduce(const WorkOrder& order, HubLink* hub, Metrics* metrics, GradientRunner* runner,
                      std::function<void(GradientModel)> serve) const;

  const GradientProcessOptions options_;
  PoolMonitor* const monitor_;
  const AlgorithmDefinitions definitions_;
  GradientService service_;
  std::unique_ptr<RpcServer> server_;
};

// Works for the pool as a gradient worker, until `stop`.
absl::Status ServeGradients(const GradientProcessOptions& options, const StopToken& stop);

}  // namespace waggle
