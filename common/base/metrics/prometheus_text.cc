#include "common/base/metrics/prometheus_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/utf8.h"

namespace waggle {
namespace {

std::string Number(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "+Inf" : "-Inf";
  }
  // Whole numbers, such as counters and bytes, exactly.
  return std::abs(value) < 9e15 && value == std::floor(value) ? absl::StrCat(static_cast<int64_t>(value))
                                                              : absl::StrFormat("%.17g", value);
}

std::string Quoted(const std::string& value) {
  return absl::StrCat("\"", absl::StrReplaceAll(AsUtf8(value), {{"\\", "\\\\"}, {"\n", "\\n"}, {"\"", "\\\""}}), "\"");
}

// `more` is a last label, already quoted; empty: none.
void AddSample(const std::string& name, const PrometheusText::Labels& labels, const std::string& more, double value,
               std::string* to) {
  std::string all;
  for (const auto& [label, text] : labels) {
    absl::StrAppend(&all, all.empty() ? "" : ",", label, "=", Quoted(text));
  }
  if (!more.empty()) {
    absl::StrAppend(&all, all.empty() ? "" : ",", more);
  }
  absl::StrAppend(to, name, all.empty() ? "" : absl::StrCat("{", all, "}"), " ", Number(value), "\n");
}

}  // namespace

PrometheusText::Family& PrometheusText::FamilyOf(const std::string& name, const char* kind, const std::string& help) {
  const auto [found, is_new] = families_.try_emplace(name);
  if (is_new) {
    found->second.kind = kind;
    found->second.help = help;
  }
  return found->second;
}

void PrometheusText::Counter(const std::string& name, const std::string& help, double value, const Labels& labels) {
  AddSample(name, labels, "", value, &FamilyOf(name, "counter", help).samples);
}

void PrometheusText::Gauge(const std::string& name, const std::string& help, double value, const Labels& labels) {
  AddSample(name, labels, "", value, &FamilyOf(name, "gauge", help).samples);
}

void PrometheusText::Histogram(const std::string& name, const std::string& help,
                               const DurationHistogram::Counts& counts, const Labels& labels) {
  std::string* const samples = &FamilyOf(name, "histogram", help).samples;
  int64_t sum = 0;
  for (size_t i = 0; i < DurationHistogram::kBuckets; ++i) {
    sum += counts.buckets[i];
    const std::string bound =
        i + 1 == DurationHistogram::kBuckets ? "+Inf" : absl::StrFormat("%g", DurationHistogram::kBounds[i]);
    AddSample(name + "_bucket", labels, absl::StrCat("le=\"", bound, "\""), static_cast<double>(sum), samples);
  }
  AddSample(name + "_sum", labels, "", counts.seconds, samples);
  AddSample(name + "_count", labels, "", static_cast<double>(sum), samples);
}

std::string PrometheusText::Text() const {
  std::string text;
  for (const auto& [name, family] : families_) {
    absl::StrAppend(&text, "# HELP ", name, " ", absl::StrReplaceAll(family.help, {{"\\", "\\\\"}, {"\n", "\\n"}}),
                    "\n# TYPE ", name, " ", family.kind, "\n", family.samples);
  }
  return text;
}

}  // namespace waggle
