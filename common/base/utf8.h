#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace waggle {

// At most the first `max_bytes` of a text, without a partial UTF-8 character at the end.
inline absl::string_view Utf8Prefix(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  size_t end = max_bytes;
  // Bytes 10xxxxxx continue a character of at most four bytes.
  while (end > 0 && max_bytes - end < 3 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

// The bytes of a text's first UTF-8 character (RFC 3629); 0 if it is invalid.
inline size_t Utf8CharacterBytes(absl::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  const size_t bytes = text.empty() ? 0 : first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // Excludes overlong forms, UTF-16 surrogates and numbers above U+10FFFF.
  const unsigned lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (first > 0xF4 || (bytes > 1 && (byte(1) < lowest || byte(1) > highest))) {
    return 0;
  }
  for (size_t i = 2; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return bytes;
}

inline bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    if (bytes == 0) {
      return false;
    }
    text.remove_prefix(bytes);
  }
  return true;
}

// Replaces invalid bytes by question marks: Protobuf's strings must be UTF-8.
inline std::string AsUtf8(absl::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t bytes = Utf8CharacterBytes(text);
    valid.append(bytes == 0 ? "?" : std::string(text.substr(0, bytes)));
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return valid;
}

}  // namespace waggle
