#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "common/base/utf8.h"

// Texts of others, as parts of messages: whatever bytes they have, these are valid UTF-8 and do nothing to a terminal.

namespace waggle {

// The beginning of a name, of at most `max_bytes` bytes. All but printable ASCII is escaped as in C.
inline std::string ShownText(absl::string_view name, size_t max_bytes = 60) {
  return absl::CHexEscape(Utf8Prefix(name, max_bytes));
}

// The beginning of a text, of at most `max_bytes` bytes, in one line: control characters become spaces, and bytes that
// belong to no character question marks.
inline std::string OneLine(absl::string_view text, size_t max_bytes) {
  std::string line;
  const std::string valid = AsUtf8(Utf8Prefix(text, max_bytes));
  for (size_t i = 0; i < valid.size(); ++i) {
    const auto byte = static_cast<unsigned char>(valid[i]);
    // U+0080 to U+009F steer terminals too. In UTF-8 they are C2 and this byte.
    if (byte == 0xC2 && static_cast<unsigned char>(valid[i + 1]) < 0xA0) {
      line.push_back(' ');
      ++i;
    } else {
      line.push_back(byte < 0x20 || byte == 0x7F ? ' ' : valid[i]);
    }
  }
  return line;
}

}  // namespace waggle
