#include "common/base/log_format.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "common/base/utf8.h"

namespace waggle {
namespace {

std::atomic<LogFormat> present{LogFormat::kText};

}  // namespace

void SetLogFormat(LogFormat format) {
  present = format;
}

LogFormat CurrentLogFormat() {
  return present;
}

std::string JsonQuoted(absl::string_view text) {
  std::string quoted = "\"";
  quoted.reserve(text.size() + 2);
  for (const char c : AsUtf8(text)) {
    switch (c) {
      case '"':
        quoted += "\\\"";
        break;
      case '\\':
        quoted += "\\\\";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\r':
        quoted += "\\r";
        break;
      case '\t':
        quoted += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          absl::StrAppend(&quoted, "\\u", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad4));
        } else {
          quoted.push_back(c);
        }
    }
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace waggle
