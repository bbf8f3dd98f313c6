#include "param_server/web/curve.h"

#include <algorithm>
#include <utility>

namespace waggle {

void Curve::Add(double step, double seconds, double value) {
  if (sums_.empty() || sums_.back().values == stride_) {
    HalveIfFull();
  }
  const Sum one{1, {step, seconds, value, value, value}};
  if (sums_.empty() || sums_.back().values == stride_) {
    sums_.push_back(one);
  } else {
    Merge(one, &sums_.back());
  }
}

void Curve::Merge(const Sum& more, Sum* sum) {
  sum->values += more.values;
  sum->point.step = more.point.step;
  sum->point.seconds = more.point.seconds;
  sum->point.mean += more.point.mean;
  sum->point.low = std::min(sum->point.low, more.point.low);
  sum->point.high = std::max(sum->point.high, more.point.high);
}

void Curve::HalveIfFull() {
  if (sums_.size() < max_points_) {
    return;
  }
  std::vector<Sum> halves;
  for (size_t i = 0; i < sums_.size(); i += 2) {
    halves.push_back(sums_[i]);
    if (i + 1 < sums_.size()) {
      Merge(sums_[i + 1], &halves.back());
    }
  }
  sums_ = std::move(halves);
  stride_ *= 2;
}

std::vector<Curve::Point> Curve::Points() const {
  std::vector<Point> points;
  points.reserve(sums_.size());
  for (const Sum& sum : sums_) {
    points.push_back(sum.point);
    points.back().mean /= static_cast<double>(sum.values);
  }
  return points;
}

}  // namespace waggle
