#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/metrics/metrics.h"
#include "common/base/metrics/prometheus_text.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// How a figure of Metrics is exported.
struct ExportedFigure {
  enum class Kind {
    kCounter,  // The sum over all orders that this process has had.
    kSum,      // A gauge: the sum over the present orders. Absent if none has the figure, like the next two.
    kMax,
    kMean,
  };
  // The counter or gauge. "refused_*" stands for all that begin with "refused_"; the rest of their names is the value
  // of the label.
  std::string figure;
  std::string name;  // For Prometheus.
  Kind kind = Kind::kCounter;
  std::string help;
  PrometheusText::Labels labels = {};  // With "*" in `figure`, the last one's value is the rest of the name.
};

// Exports the figures of a process's orders as the figures of the process: each order, a part in one experiment, has
// Metrics of its own, and experiments must not become labels. Thread-safe.
class OrderFigures {
 public:
  explicit OrderFigures(std::vector<ExportedFigure> figures) : figures_(std::move(figures)) {}

  // Counts the metrics of an order until it is destroyed. Then the order's counters are kept.
  class Attachment {
   public:
    ~Attachment();
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

   private:
    friend class OrderFigures;
    Attachment(OrderFigures* all, const Metrics* metrics) : all_(all), metrics_(metrics) {}
    OrderFigures* const all_;
    const Metrics* const metrics_;
  };
  // The metrics, and this, outlive the attachment.
  std::unique_ptr<Attachment> Attach(const Metrics* metrics) ABSL_LOCKS_EXCLUDED(mutex_);

  // The attached orders.
  size_t present() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Counters without a "*" are written even while they are zero.
  void Write(PrometheusText* text) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::vector<ExportedFigure> figures_;
  mutable Mutex mutex_;  // Held while snapshots are taken, so that none is taken of metrics that are gone.
  std::vector<const Metrics*> orders_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, double> ended_ ABSL_GUARDED_BY(mutex_);  // The counters of ended orders.
};

}  // namespace waggle
