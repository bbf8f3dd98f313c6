#include "common/base/metrics/metrics.h"

#include <algorithm>

#include "common/base/steady_now.h"

namespace waggle {

void Metrics::Add(absl::string_view counter, double amount) {
  MutexLock lock(&mutex_);
  counters_[std::string(counter)] += amount;
}

void Metrics::Set(absl::string_view gauge, double value, absl::Duration lifetime) {
  const absl::Time holds_until = SteadyNow() + lifetime;
  MutexLock lock(&mutex_);
  gauges_[std::string(gauge)] = {value, holds_until};
}

void Metrics::ForgetGauges() {
  MutexLock lock(&mutex_);
  gauges_.clear();
}

void Metrics::SetActivity(absl::string_view activity) {
  MutexLock lock(&mutex_);
  activity_ = std::string(activity);
}

void Metrics::SetLastError(absl::string_view error) {
  MutexLock lock(&mutex_);
  last_error_ = std::string(error);
}

std::unique_ptr<Metrics::Registration> Metrics::BeforeSnapshot(std::function<void()> refresh) {
  auto refresher = std::make_shared<Refresher>();
  {
    MutexLock lock(&refresher->mutex);
    refresher->refresh = std::move(refresh);
  }
  MutexLock lock(&mutex_);
  refreshers_.push_back(refresher);
  return std::unique_ptr<Registration>(new Registration(this, std::move(refresher)));
}

Metrics::Registration::~Registration() {
  {
    MutexLock lock(&metrics_->mutex_);
    auto& all = metrics_->refreshers_;
    all.erase(std::find(all.begin(), all.end(), refresher_));
  }
  // A snapshot may hold it still.
  MutexLock lock(&refresher_->mutex);
  refresher_->refresh = nullptr;
}

Metrics::Snapshot Metrics::TakeSnapshot() const {
  std::vector<std::shared_ptr<Refresher>> refreshers;
  {
    MutexLock lock(&mutex_);
    refreshers = refreshers_;
  }
  for (const std::shared_ptr<Refresher>& refresher : refreshers) {
    MutexLock lock(&refresher->mutex);
    if (refresher->refresh != nullptr) {
      refresher->refresh();
    }
  }
  const absl::Time now = SteadyNow();
  MutexLock lock(&mutex_);
  Snapshot snapshot = {counters_, {}, activity_, last_error_};
  for (const auto& [name, gauge] : gauges_) {
    if (now < gauge.holds_until) {
      snapshot.gauges[name] = gauge.value;
    }
  }
  return snapshot;
}

}  // namespace waggle
