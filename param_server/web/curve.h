#pragma once

#include <cstddef>
#include <vector>

namespace waggle {

// A figure over a run, thinned so that any number of values makes a bounded number of points. Each point stands for
// the same number of values, one after the other. Not thread-safe.
class Curve {
 public:
  struct Point {
    double step = 0;     // Environment steps, of the last value.
    double seconds = 0;  // The run's time, of the last value.
    double mean = 0;
    double low = 0;
    double high = 0;
  };

  // Makes at most `max_points` points, which must be even. After as many values it makes at least half as many points.
  explicit Curve(size_t max_points) : max_points_(max_points) {}

  void Add(double step, double seconds, double value);

  // The last one may stand for fewer values.
  std::vector<Point> Points() const;

 private:
  struct Sum {
    size_t values = 0;
    Point point;  // `mean` is the sum of the values.
  };
  static void Merge(const Sum& more, Sum* sum);
  void HalveIfFull();

  const size_t max_points_;
  size_t stride_ = 1;      // Values of a point.
  std::vector<Sum> sums_;  // All but the last have `stride_` values.
};

}  // namespace waggle
