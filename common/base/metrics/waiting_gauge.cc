#include "common/base/metrics/waiting_gauge.h"

#include <algorithm>
#include <utility>

namespace waggle {

WaitingGauge::WaitingGauge(Metrics* metrics, Words words, std::function<Wait()> wait, absl::Duration period)
    : metrics_(metrics),
      words_(std::move(words)),
      wait_(std::move(wait)),
      period_(period),
      before_(wait_()),
      registration_(metrics->BeforeSnapshot([this] { Refresh(period_); })) {
  metrics->SetActivity(words_.working);
}

WaitingGauge::~WaitingGauge() {
  registration_.reset();
  Refresh(measured_ ? period_ : absl::ZeroDuration());
}

void WaitingGauge::Refresh(absl::Duration period) {
  const Wait wait = wait_();
  metrics_->SetActivity(!wait.waiting ? words_.working : wait.for_what == nullptr ? words_.waiting : wait.for_what);
  const absl::Duration elapsed = since_.Elapsed();
  // Two snapshots may come at the same time, and no time has no fraction.
  if (elapsed < period || elapsed <= absl::ZeroDuration()) {
    return;
  }
  const auto set = [this, elapsed](const char* gauge, absl::Duration total, absl::Duration before) {
    metrics_->Set(gauge, std::clamp(absl::FDivDuration(total - before, elapsed), 0.0, 1.0));
  };
  set("waiting_fraction", wait.total, before_.total);
  for (size_t i = 0; i < wait.shares.size(); ++i) {
    const auto& [gauge, total] = wait.shares[i];
    if (total > absl::ZeroDuration()) {
      set(gauge, total, before_.shares[i].second);
    }
  }
  measured_ = true;
  before_ = wait;
  since_ = Stopwatch();
}

}  // namespace waggle
