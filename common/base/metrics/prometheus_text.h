#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/metrics/duration_histogram.h"

namespace waggle {

// Metrics in the text format of Prometheus, version 0.0.4. Not thread-safe.
class PrometheusText {
 public:
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

  // Names and values. Values may have any bytes; those that are not UTF-8 are replaced.
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // Each call adds a sample to the family `name`. The first call of a family sets its kind and help. Names are those of
  // this program: letters, digits and "_".
  void Counter(const std::string& name, const std::string& help, double value, const Labels& labels = {});
  void Gauge(const std::string& name, const std::string& help, double value, const Labels& labels = {});
  // In seconds.
  void Histogram(const std::string& name, const std::string& help, const DurationHistogram::Counts& counts,
                 const Labels& labels = {});

  // All families, in the order of their names.
  std::string Text() const;

 private:
  struct Family {
    const char* kind = "";
    std::string help;
    std::string samples;
  };
  Family& FamilyOf(const std::string& name, const char* kind, const std::string& help);

  std::map<std::string, Family> families_;
};

}  // namespace waggle
