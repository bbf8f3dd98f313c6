#include "common/base/metrics/order_figures.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Kind = ExportedFigure::Kind;

std::vector<ExportedFigure> Figures() {
  return {
      {"steps", "steps_total", Kind::kCounter, "Steps."},
      {"refused_*", "refused_total", Kind::kCounter, "Refused.", {{"reason", ""}}},
      {"items", "items", Kind::kSum, "Items."},
      {"lag", "lag", Kind::kMean, "Lag."},
      {"age", "age", Kind::kMax, "Age."},
  };
}

// The samples, without help and kinds.
std::string Samples(const OrderFigures& figures) {
  PrometheusText text;
  figures.Write(&text);
  std::string samples;
  const std::string all = text.Text();
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at) + 1;
    samples += all[at] == '#' ? "" : all.substr(at, end - at);
    at = end;
  }
  return samples;
}

TEST_CASE("without orders there are counters of zero, and no gauges", "[unit]") {
  const OrderFigures figures(Figures());
  CHECK(Samples(figures) == "steps_total 0\n");
}

TEST_CASE("counters are summed over orders and gauges combined by their kinds", "[unit]") {
  OrderFigures figures(Figures());
  Metrics one;
  Metrics two;
  const auto first = figures.Attach(&one);
  const auto second = figures.Attach(&two);
  CHECK(figures.present() == 2);
  one.Add("steps", 3);
  two.Add("steps", 4);
  two.Add("refused_disk", 1);
  two.Add("unknown", 1);
  for (const char* const gauge : {"items", "lag", "age"}) {
    one.Set(gauge, -3);
    two.Set(gauge, -5);
  }
  CHECK(Samples(figures) == "age -3\nitems -8\nlag -4\nrefused_total{reason=\"disk\"} 1\nsteps_total 7\n");
}

TEST_CASE("an ended order's counters stay and its gauges go", "[unit]") {
  OrderFigures figures(Figures());
  for (int i = 0; i < 3; ++i) {
    Metrics metrics;
    const auto order = figures.Attach(&metrics);
    metrics.Add("steps", 2);
    metrics.Set("items", 1);
    CHECK(Samples(figures) == "items 1\nsteps_total " + std::to_string(2 * (i + 1)) + "\n");
  }
  CHECK(Samples(figures) == "steps_total 6\n");
  CHECK(figures.present() == 0);
}

}  // namespace
}  // namespace waggle
