#include "common/base/metrics/order_figures.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace waggle {
namespace {

using Kind = ExportedFigure::Kind;

bool IsPattern(const ExportedFigure& figure) {
  return absl::EndsWith(figure.figure, "*");
}

// Calls `use(name)` for each name in `values` that the figure stands for.
template <class Map, class Use>
void ForEach(const ExportedFigure& figure, const Map& values, const Use& use) {
  if (!IsPattern(figure)) {
    if (values.count(figure.figure) > 0) {
      use(figure.figure);
    }
    return;
  }
  const std::string prefix = figure.figure.substr(0, figure.figure.size() - 1);
  for (auto it = values.lower_bound(prefix); it != values.end() && absl::StartsWith(it->first, prefix); ++it) {
    use(it->first);
  }
}

PrometheusText::Labels LabelsOf(const ExportedFigure& figure, const std::string& name) {
  PrometheusText::Labels labels = figure.labels;
  if (IsPattern(figure)) {
    labels.back().second = name.substr(figure.figure.size() - 1);
  }
  return labels;
}

struct Gauge {
  double sum = 0;
  double max = 0;
  double count = 0;

  void Add(double value) {
    max = count == 0 ? value : std::max(max, value);
    sum += value;
    count += 1;
  }
  double As(Kind kind) const { return kind == Kind::kMax ? max : kind == Kind::kMean ? sum / count : sum; }
};

}  // namespace

OrderFigures::Attachment::~Attachment() {
  MutexLock lock(&all_->mutex_);
  for (const auto& [name, value] : metrics_->TakeSnapshot().counters) {
    all_->ended_[name] += value;
  }
  all_->orders_.erase(std::find(all_->orders_.begin(), all_->orders_.end(), metrics_));
}

std::unique_ptr<OrderFigures::Attachment> OrderFigures::Attach(const Metrics* metrics) {
  MutexLock lock(&mutex_);
  orders_.push_back(metrics);
  return std::unique_ptr<Attachment>(new Attachment(this, metrics));
}

size_t OrderFigures::present() const {
  MutexLock lock(&mutex_);
  return orders_.size();
}

void OrderFigures::Write(PrometheusText* text) const {
  std::map<std::string, double> counters;
  std::map<std::string, Gauge> gauges;
  {
    MutexLock lock(&mutex_);
    counters = ended_;
    for (const Metrics* const order : orders_) {
      const Metrics::Snapshot snapshot = order->TakeSnapshot();
      for (const auto& [name, value] : snapshot.counters) {
        counters[name] += value;
      }
      for (const auto& [name, value] : snapshot.gauges) {
        gauges[name].Add(value);
      }
    }
  }
  for (const ExportedFigure& figure : figures_) {
    if (figure.kind == Kind::kCounter) {
      if (!IsPattern(figure)) {
        counters.try_emplace(figure.figure, 0);
      }
      ForEach(figure, counters, [&](const std::string& name) {
        text->Counter(figure.name, figure.help, counters[name], LabelsOf(figure, name));
      });
    } else {
      ForEach(figure, gauges, [&](const std::string& name) {
        text->Gauge(figure.name, figure.help, gauges[name].As(figure.kind), LabelsOf(figure, name));
      });
    }
  }
}

}  // namespace waggle
