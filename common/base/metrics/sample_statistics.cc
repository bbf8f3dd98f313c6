#include "common/base/metrics/sample_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace waggle {

double SampleStatistics::StandardError() const {
  return count == 0 ? 0 : standard_deviation / std::sqrt(static_cast<double>(count));
}

SampleStatistics StatisticsOf(const std::vector<double>& sample) {
  SampleStatistics statistics;
  if (sample.empty()) {
    return statistics;
  }
  const double size = static_cast<double>(sample.size());
  statistics.count = static_cast<int64_t>(sample.size());
  statistics.mean = std::accumulate(sample.begin(), sample.end(), 0.0) / size;
  const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
  statistics.min = *least;
  statistics.max = *most;
  if (sample.size() > 1) {
    double squares = 0;
    for (const double value : sample) {
      squares += (value - statistics.mean) * (value - statistics.mean);
    }
    statistics.standard_deviation = std::sqrt(squares / (size - 1));
  }
  return statistics;
}

}  // namespace waggle
