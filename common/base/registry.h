#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"

namespace waggle {

// Named entries of one kind ("environment", "algorithm") for configurations. An explicit function fills it at the start
// (BuiltinEnvironments): linkers drop self-registering objects in static libraries. Then read-only, so thread-safe.
template <class Entry>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  // ALREADY_EXISTS if the name is taken.
  absl::Status Register(const std::string& name, Entry entry) {
    if (!entries_.emplace(name, std::move(entry)).second) {
      return absl::AlreadyExistsError(absl::StrCat(kind_, " \"", name, "\" is already registered"));
    }
    return absl::OkStatus();
  }

  // NOT_FOUND, with the nearest known name, if the name is unknown. The entry lives as long as the registry.
  absl::StatusOr<const Entry*> Find(const std::string& name) const {
    const auto it = entries_.find(name);
    if (it == entries_.end()) {
      return absl::NotFoundError(absl::StrCat("no ", kind_, " named \"", name, "\"", DidYouMean(name, Names()),
                                              "; known: ", absl::StrJoin(Names(), ", ")));
    }
    return &it->second;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    names.reserve(entries_.size());
    for (const auto& [name, entry] : entries_) {
      names.push_back(name);
    }
    return names;
  }

 private:
  std::string kind_;
  std::map<std::string, Entry> entries_;
};

}  // namespace waggle
