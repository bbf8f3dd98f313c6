#include "common/base/process/pool_monitor.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<PoolMonitor>> PoolMonitor::Start(const std::string& listen, const std::string& part,
                                                                std::vector<ExportedFigure> figures) {
  std::unique_ptr<PoolMonitor> pool(new PoolMonitor(part, std::move(figures)));
  MonitorOptions options;
  options.listen = listen;
  options.part = part;
  WAGGLE_ASSIGN_OR_RETURN(pool->monitor_, Monitor::Start(options));
  pool->collecting_ = pool->monitor_->Add([pool = pool.get()](PrometheusText* text) {
    text->Gauge(absl::StrCat("waggle_", pool->part_, "_orders"), "Orders of this process: its parts in experiments.",
                static_cast<double>(pool->orders_.present()));
    pool->orders_.Write(text);
    pool->rpcs_.Write(text);
  });
  return pool;
}

}  // namespace waggle
