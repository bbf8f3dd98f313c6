#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Gathers everything that is wrong, so that it can be mended at once.
class Problems {
 public:
  // What absl::StrCat takes, as one problem.
  template <class... Parts>
  void Add(const Parts&... parts) {
    problems_.push_back(absl::StrCat(parts...));
  }
  template <class... Parts>
  void AddUnless(bool good, const Parts&... parts) {
    if (!good) {
      Add(parts...);
    }
  }
  void AddUnlessAtLeast(absl::string_view field, int64_t value, int64_t least) {
    AddUnless(value >= least, field, ": ", value, " is less than ", least);
  }
  // The status's message behind `prefix`.
  void AddIfBad(absl::string_view prefix, const absl::Status& status) {
    if (!status.ok()) {
      Add(prefix, status.message());
    }
  }

  // INVALID_ARGUMENT with all of them behind `prefix`, one a line or parted by something else; OK if there is none.
  absl::Status ToStatus(absl::string_view prefix = "", absl::string_view separator = "\n") const {
    return problems_.empty() ? absl::OkStatus()
                             : absl::InvalidArgumentError(absl::StrCat(prefix, absl::StrJoin(problems_, separator)));
  }

 private:
  std::vector<std::string> problems_;
};

}  // namespace waggle
