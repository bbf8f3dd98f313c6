#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "common/base/utf8.h"

// Foreign texts in messages, as valid UTF-8 that does not affect a terminal.

namespace waggle {

// At most the first `max_bytes` of a name. All but printable ASCII is escaped as in C.
inline std::string ShownText(absl::string_view name, size_t max_bytes = 60) {
  return absl::CHexEscape(Utf8Prefix(name, max_bytes));
}

// At most the first `max_bytes` of a text, in one line: control characters become spaces, invalid bytes question marks.
inline std::string OneLine(absl::string_view text, size_t max_bytes) {
  std::string line;
  const std::string valid = AsUtf8(Utf8Prefix(text, max_bytes));
  for (size_t i = 0; i < valid.size(); ++i) {
    const auto byte = static_cast<unsigned char>(valid[i]);
    // U+0080 to U+009F, C2 and this byte in UTF-8, control terminals too.
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
