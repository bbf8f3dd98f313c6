#pragma once

#include <cstdint>
#include <vector>

namespace waggle {

// Statistics of a sample of numbers.
struct SampleStatistics {
  int64_t count = 0;
  double mean = 0;
  double standard_deviation = 0;  // An estimate for the sample's source, by count - 1; 0 for less than two.
  double min = 0;
  double max = 0;

  // The mean's; 0 for less than two.
  double StandardError() const;
};

// All zero for an empty sample.
SampleStatistics StatisticsOf(const std::vector<double>& sample);

}  // namespace waggle
