#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/metrics/order_figures.h"
#include "common/base/process/monitor.h"
#include "common/net/rpc_figures.h"

namespace waggle {

// The monitor of a process of the pool: the figures of its orders and of calls to it, and its calls to the hub as the
// main loop's progress. Thread-safe.
class PoolMonitor {
 public:
  // `listen` may be empty: then nothing is served. `part` is the process's name in the figures ("actor").
  static absl::StatusOr<std::unique_ptr<PoolMonitor>> Start(const std::string& listen, const std::string& part,
                                                            std::vector<ExportedFigure> figures);

  // For RpcServer::Start; null if nothing is served, as counting costs each call a little.
  RpcFigures* rpcs() { return monitor_->address().empty() ? nullptr : &rpcs_; }
  // For each order's metrics.
  OrderFigures* orders() { return &orders_; }
  Monitor* monitor() { return monitor_.get(); }

  // For PoolClientOptions::attended.
  std::function<void(const std::string& why_not)> attended() {
    return [this](const std::string& why_not) {
      monitor_->Beat();
      monitor_->SetUnready(why_not);
    };
  }

 private:
  PoolMonitor(const std::string& part, std::vector<ExportedFigure> figures)
      : part_(part), orders_(std::move(figures)) {}

  const std::string part_;
  RpcFigures rpcs_;
  OrderFigures orders_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Monitor::Registration> collecting_;
};

}  // namespace waggle
