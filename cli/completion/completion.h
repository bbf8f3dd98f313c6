#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/completion/verb_facts.h"

// Scripts by which shells complete the words of `waggle`: verbs, flags, the values of flags that have few, files, and
// the names of experiments that ship.

namespace waggle {

// The shells that CompletionScript knows.
std::vector<std::string> CompletionShells();

// The script of a shell, to be sourced. INVALID_ARGUMENT if the shell is not known.
absl::StatusOr<std::string> CompletionScript(const std::string& shell, const std::vector<VerbFacts>& verbs);

// The manual page of `waggle`, for man.
std::string CommandManPage(const std::vector<VerbFacts>& verbs);

}  // namespace waggle
