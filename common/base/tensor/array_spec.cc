#include "common/base/tensor/array_spec.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace waggle {

int64_t ArraySpec::NumElements() const {
  int64_t elements = 1;
  for (const int64_t dimension : shape) {
    elements *= dimension;
  }
  return elements;
}

int64_t ArraySpec::NumBytes() const {
  return NumElements() * static_cast<int64_t>(DTypeSize(dtype));
}

std::string ArraySpec::DebugString() const {
  return absl::StrCat(name, ": ", DTypeName(dtype), "[", absl::StrJoin(shape, ", "), "]");
}

absl::Status ArraySpec::Validate() const {
  WAGGLE_RETURN_IF_ERROR(ValidateName(name));
  if (!IsDType(static_cast<int>(dtype))) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", static_cast<int>(dtype), " is not an element type"));
  }
  if (shape.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has ", shape.size(), " dimensions; at most ", kMaxRank, " are allowed"));
  }
  int64_t bytes = static_cast<int64_t>(DTypeSize(dtype));
  for (const int64_t dimension : shape) {
    if (dimension < 0) {
      return absl::InvalidArgumentError(absl::StrCat(DebugString(), " has a negative dimension"));
    }
    if (dimension > 0 && bytes > kMaxArrayBytes / dimension) {
      return absl::InvalidArgumentError(absl::StrCat(DebugString(), " is larger than ", kMaxArrayBytes, " bytes"));
    }
    bytes *= dimension;
  }
  return absl::OkStatus();
}

absl::Status ValidateName(const std::string& name) {
  if (name.empty() || name.size() > kMaxNameLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name has 1 to ", kMaxNameLength, " characters; got ", name.size()));
  }
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '/' && c != '-') {
      return absl::InvalidArgumentError("a name holds only letters, digits, '.', '_', '/' and '-'; got \"" +
                                        absl::StrCat(absl::CHexEscape(name)) + "\"");
    }
  }
  return absl::OkStatus();
}

int64_t BytesARow(const std::vector<ArraySpec>& columns) {
  int64_t bytes = 0;
  for (const ArraySpec& column : columns) {
    bytes += column.NumBytes();
  }
  return bytes;
}

std::string DebugString(const std::vector<ArraySpec>& specs) {
  return absl::StrCat(
      "[",
      absl::StrJoin(specs, ", ",
                    [](std::string* out, const ArraySpec& spec) { absl::StrAppend(out, spec.DebugString()); }),
      "]");
}

}  // namespace waggle
