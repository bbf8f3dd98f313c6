#include "replay_server/diagnose/explain_stall.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace waggle {

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

bool Stall::Present(Requester::Kind kind) const {
  return std::any_of(picture_.parties.begin(), picture_.parties.end(),
                     [kind](const TablePicture::Party& party) { return party.kind == kind && party.present; });
}

std::string DigitsText(double value) {
  return absl::StrFormat("%.12g", value);
}

int64_t CeilDivide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

Remedy AtLeast(const std::string& setting, double value, double now) {
  const double whole = std::ceil(value);
  return {setting, DigitsText(now), absl::StrCat(">= ", DigitsText(whole)), whole, true};
}

Remedy AtMost(const std::string& setting, double value, double now) {
  const double whole = std::floor(value);
  return {setting, DigitsText(now), absl::StrCat("<= ", DigitsText(whole)), whole, true};
}

Remedy SmallerBatch(int64_t largest, int64_t now) {
  return {"batch_size", absl::StrCat(now), absl::StrCat("<= ", largest), static_cast<double>(largest), false};
}

}  // namespace waggle
