#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace waggle {

// The beginning of a text, of at most `max_bytes` bytes, which cuts no UTF-8 character in two.
inline absl::string_view Utf8Prefix(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  size_t end = max_bytes;
  // A byte 10xxxxxx goes on with a character; none is longer than four.
  while (end > 0 && max_bytes - end < 3 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace waggle
