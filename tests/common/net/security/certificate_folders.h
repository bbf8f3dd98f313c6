#pragma once

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Makes the folders hub, worker, admin, submitter and reader in `folder`, by deploy/certificates.sh. With negative
// `days` they are expired.
inline void MakeCertificates(const std::string& folder, int days = 2) {
  const std::string command =
      absl::StrCat("DAYS=", days, " " WAGGLE_SOURCE_FOLDER "/deploy/certificates.sh ", folder, " >/dev/null");
  REQUIRE(std::system(command.c_str()) == 0);
}

}  // namespace waggle::testing
