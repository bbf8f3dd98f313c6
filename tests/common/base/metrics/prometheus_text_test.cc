#include "common/base/metrics/prometheus_text.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("families are written in the order of their names, each with its help, its kind and its samples", "[unit]") {
  PrometheusText text;
  text.Gauge("b", "Second.", 0.5);
  text.Counter("a_total", "First.", 3, {{"kind", "x"}, {"role", "y"}});
  text.Counter("a_total", "Ignored.", 4);
  CHECK(text.Text() ==
        "# HELP a_total First.\n# TYPE a_total counter\na_total{kind=\"x\",role=\"y\"} 3\na_total 4\n"
        "# HELP b Second.\n# TYPE b gauge\nb 0.5\n");
}

TEST_CASE("label values and help are escaped", "[unit]") {
  PrometheusText text;
  text.Gauge("a", "One\\two\n\"three\"", 1, {{"l", "q\"b\\n\nx\xff\xc3\xa9"}});
  CHECK(text.Text() == "# HELP a One\\\\two\\n\"three\"\n# TYPE a gauge\na{l=\"q\\\"b\\\\n\\nx?\xc3\xa9\"} 1\n");
}

TEST_CASE("numbers are exact", "[unit]") {
  const auto written = [](double value) {
    PrometheusText text;
    text.Gauge("a", "", value);
    const std::string all = text.Text();
    const size_t at = all.rfind("\na ") + 3;
    return all.substr(at, all.size() - at - 1);
  };
  CHECK(written(1e15 + 1) == "1000000000000001");
  CHECK(written(-2) == "-2");
  CHECK(std::stod(written(0.1)) == 0.1);
  CHECK(std::stod(written(1.7e300)) == 1.7e300);
  CHECK(written(std::nan("")) == "NaN");
  CHECK(written(std::numeric_limits<double>::infinity()) == "+Inf");
  CHECK(written(-std::numeric_limits<double>::infinity()) == "-Inf");
}

TEST_CASE("a histogram's buckets count all that is not above them", "[unit]") {
  DurationHistogram histogram;
  histogram.Observe(absl::Milliseconds(1));
  histogram.Observe(absl::Milliseconds(2));
  histogram.Observe(absl::Seconds(1000));
  PrometheusText text;
  text.Histogram("h_seconds", "H.", histogram.counts(), {{"m", "x"}});
  const std::string all = text.Text();
  CHECK(all.find("h_seconds_bucket{m=\"x\",le=\"0.0003\"} 0\n") != std::string::npos);
  CHECK(all.find("h_seconds_bucket{m=\"x\",le=\"0.001\"} 1\n") != std::string::npos);
  CHECK(all.find("h_seconds_bucket{m=\"x\",le=\"0.003\"} 2\n") != std::string::npos);
  CHECK(all.find("h_seconds_bucket{m=\"x\",le=\"+Inf\"} 3\n") != std::string::npos);
  CHECK(all.find("h_seconds_sum{m=\"x\"} 1000.003") != std::string::npos);
  CHECK(all.find("h_seconds_count{m=\"x\"} 3\n") != std::string::npos);
}

}  // namespace
}  // namespace waggle
