#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Checks that `text` is the JSON of tests/golden/`file`. The order of keys does not count; the types of numbers do.
inline void CheckGolden(const std::string& text, const std::string& file) {
  const std::string golden = Contents(std::string(WAGGLE_GOLDEN_DIR "/") + file);
  CHECK(nlohmann::json::parse(text).dump(2) == nlohmann::json::parse(golden).dump(2));
}

}  // namespace waggle::testing
