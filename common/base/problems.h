#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Collects all problems, so that they can be fixed at once.
class Problems {
 public:
  // Adds the concatenated parts as one problem.
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
  // Adds the status's message after `prefix`.
  void AddIfBad(absl::string_view prefix, const absl::Status& status) {
    if (!status.ok()) {
      Add(prefix, status.message());
    }
  }

  // INVALID_ARGUMENT with `prefix` and all problems; OK if there are none.
  absl::Status ToStatus(absl::string_view prefix = "", absl::string_view separator = "\n") const {
    return problems_.empty() ? absl::OkStatus()
                             : absl::InvalidArgumentError(absl::StrCat(prefix, absl::StrJoin(problems_, separator)));
  }

 private:
  std::vector<std::string> problems_;
};

}  // namespace waggle
