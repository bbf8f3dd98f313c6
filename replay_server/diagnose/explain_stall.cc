#include "replay_server/diagnose/explain_stall.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace waggle {
namespace {

void AddBound(const std::string& setting, const char* sign, double value, double now, bool of_table,
              Explanation* finding) {
  AddInWords(setting, DigitsText(now), absl::StrCat(sign, DigitsText(value)), finding);
  v1::Remedy* const remedy = finding->mutable_remedies(finding->remedies_size() - 1);
  remedy->set_value(value);
  remedy->set_is_table_setting(of_table);
}

}  // namespace

Stall::Stall(const TablePicture& picture, size_t sample) : picture_(picture), limiter_(picture.config->rate_limiter) {
  limiter_.Restore(picture.inserts, picture.samples, picture.ratio_carried);
  if (sample < picture.first_samples.size()) {
    batch_ = picture.first_samples[sample].asked;
  }
}

std::string Stall::BatchText() const {
  return absl::StrCat("a batch of ", batch_.items,
                      batch_.counted == batch_.items ? "" : absl::StrCat(", counted as ", batch_.counted, ","));
}

bool Stall::Present(TableClient::Kind kind) const {
  return std::any_of(picture_.parties.begin(), picture_.parties.end(),
                     [kind](const TablePicture::Party& party) { return party.kind == kind && party.present; });
}

std::string DigitsText(double value) {
  return absl::StrFormat("%.12g", value);
}

int64_t CeilDivide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

void AddInWords(const std::string& subject, const std::string& now, const std::string& change, Explanation* finding) {
  v1::Remedy* const remedy = finding->add_remedies();
  remedy->set_setting(subject);
  remedy->set_now(now);
  remedy->set_change(change);
}

void AddAtLeast(const std::string& setting, double value, double now, Explanation* finding) {
  AddBound(setting, ">= ", std::ceil(value), now, /*of_table=*/true, finding);
}

void AddAtMost(const std::string& setting, double value, double now, Explanation* finding) {
  AddBound(setting, "<= ", std::floor(value), now, /*of_table=*/true, finding);
}

void AddSmallerBatch(int64_t largest, int64_t now, Explanation* finding) {
  AddBound("batch_size", "<= ", static_cast<double>(largest), static_cast<double>(now), /*of_table=*/false, finding);
}

}  // namespace waggle
