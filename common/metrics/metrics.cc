#include "common/metrics/metrics.h"

namespace waggle {

void Metrics::Add(absl::string_view counter, double amount) {
  MutexLock lock(&mutex_);
  values_.counters[std::string(counter)] += amount;
}

void Metrics::Set(absl::string_view gauge, double value) {
  MutexLock lock(&mutex_);
  values_.gauges[std::string(gauge)] = value;
}

void Metrics::SetActivity(absl::string_view activity) {
  MutexLock lock(&mutex_);
  values_.activity = std::string(activity);
}

Metrics::Snapshot Metrics::TakeSnapshot() const {
  MutexLock lock(&mutex_);
  return values_;
}

}  // namespace waggle
