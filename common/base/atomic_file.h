#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Replaces a small file as a whole: readers see the old or the new text, also after a power cut. Blocks for as long as
// the disk takes. Errors name the path: PERMISSION_DENIED, RESOURCE_EXHAUSTED for a full disk, NOT_FOUND for a missing
// folder, FAILED_PRECONDITION for the rest. One writer at a time.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view text);

// The whole text. NOT_FOUND if there is no such file; RESOURCE_EXHAUSTED if it has more than `max_bytes`.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path, size_t max_bytes);

// The status for a failed call on `path`: "PATH: cannot WHAT: reason", with the code that fits `error_number`.
absl::Status FileError(int error_number, absl::string_view path, absl::string_view what);

}  // namespace waggle
