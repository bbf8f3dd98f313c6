#pragma once

#include <cstdint>
#include <vector>

namespace waggle {

// What can be said of a sample of numbers.
struct SampleStatistics {
  int64_t count = 0;
  double mean = 0;
  double standard_deviation = 0;  // An estimate of where the sample is from, by count - 1; 0 for less than two.
  double min = 0;
  double max = 0;

  // Of the mean; 0 for less than two.
  double StandardError() const;
};

// All zero for an empty sample.
SampleStatistics StatisticsOf(const std::vector<double>& sample);

}  // namespace waggle
