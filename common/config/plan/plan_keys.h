#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/config/spec/leaf_name.h"

// Keys of networks in files.

namespace waggle {

// The lines of a message, with `prefix` before each key.
inline absl::Status Behind(const std::string& prefix, const absl::Status& problems) {
  return problems.ok()
             ? problems
             : absl::Status(problems.code(),
                            absl::StrCat(prefix, absl::StrReplaceAll(problems.message(), {{"\n", "\n" + prefix}})));
}

// A leaf's name under `encoders`.
inline std::string EncoderName(const std::string& leaf) {
  const absl::StatusOr<LeafName> name = SplitLeafName(leaf);
  if (!name.ok() || name->path.empty()) {
    return leaf;
  }
  return name->agent.empty() ? name->path : absl::StrCat(name->agent, "/", name->path);
}

// The keys of a map by name.
template <class Map>
std::vector<std::string> KeysOf(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
  }
  return keys;
}

}  // namespace waggle
