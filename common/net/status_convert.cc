#include "common/net/status_convert.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/reason.h"
#include "waggle/v1/status.pb.h"

namespace waggle {
namespace {

// The longest encoded message in the trailing metadata. Longer ones do not arrive at all.
constexpr size_t kMaxTextBytes = 4096;
// For a message with details, which repeat it, a third longer.
constexpr size_t kMaxRepeatedTextBytes = 3072;

constexpr char kErrorInfo[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kDomain[] = "waggle";
constexpr size_t kMaxReasonBytes = 64;

// The details of our INTERNAL: a google.rpc.Status of that code, as other programs expect there.
constexpr char kOwnInternal[] = "\x08\x0D";

bool ContinuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The part of a message that fits, without half a character at its end.
absl::string_view FittingPart(absl::string_view text, size_t max_bytes) {
  size_t encoded = 0;
  size_t size = 0;
  while (size < text.size()) {
    const char byte = text[size];
    encoded += byte >= 0x20 && byte <= 0x7E && byte != '%' ? 1 : 3;  // Others become "%XX".
    if (encoded > max_bytes) {
      break;
    }
    ++size;
  }
  while (size < text.size() && size > 0 && ContinuesCharacter(text[size])) {
    --size;
  }
  return text.substr(0, size);
}

std::string Details(grpc::StatusCode code, const std::string& message, const std::string& reason) {
  v1::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kDomain);
  v1::ErrorStatus status;
  status.set_code(code);
  status.set_message(message);  // Programs that know google.rpc.Status compare it with the call's message.
  v1::ErrorDetail* const detail = status.add_details();
  detail->set_type_url(kErrorInfo);
  detail->set_value(info.SerializeAsString());
  return status.SerializeAsString();
}

// True for a word of the form of all reasons. A peer's word is shown to people.
bool IsReason(absl::string_view text) {
  return text.size() <= kMaxReasonBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// The reason in the details; empty without one of our domain.
std::string ReasonIn(const std::string& details) {
  v1::ErrorStatus status;
  if (details.empty() || !status.ParseFromString(details)) {
    return "";
  }
  for (const v1::ErrorDetail& detail : status.details()) {
    v1::ErrorInfo info;
    if (detail.type_url() == kErrorInfo && info.ParseFromString(detail.value()) && info.domain() == kDomain &&
        IsReason(info.reason())) {
      return info.reason();
    }
  }
  return "";
}

// Adds what to do to the library's words for a connection that fails because of certificates.
std::string WithHint(const std::string& text) {
  if (!absl::StrContains(text, "failed to connect")) {
    return text;
  }
  for (const auto& [words, hint] : {
           std::pair("certificate verify failed", "the server's certificate is of no authority in ca.crt of --tls"),
           std::pair("wrong version number", "the server has no certificates, so that --tls must be left out"),
           std::pair("Socket closed", "a server with certificates closes connections of plain text: see --tls"),
       }) {
    if (absl::StrContains(text, words)) {
      return absl::StrCat(text, " (", hint, ")");
    }
  }
  return text;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  const auto code = static_cast<grpc::StatusCode>(status.code());
  if (const std::string reason = ReasonOf(status); !reason.empty()) {
    const std::string message(FittingPart(status.message(), kMaxRepeatedTextBytes));
    return grpc::Status(code, message, Details(code, message, reason));
  }
  return grpc::Status(code, std::string(FittingPart(status.message(), kMaxTextBytes)),
                      absl::IsInternal(status) ? kOwnInternal : "");
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  if (status.error_code() == grpc::StatusCode::UNKNOWN && status.error_message() == "Stream removed") {
    return absl::UnavailableError("the peer went away");
  }
  // gRPC's words for calls that were under way when a server was shut down.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_message() == "Cancelling all calls") {
    return absl::UnavailableError("the server has ended");
  }
  if (status.error_code() == grpc::StatusCode::INTERNAL && status.error_details().empty()) {
    return absl::UnavailableError(status.error_message());
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty()) {
    return absl::UnimplementedError("the server does not know this method: it is of another kind, or another version");
  }
  absl::Status converted(static_cast<absl::StatusCode>(status.error_code()), WithHint(status.error_message()));
  const std::string reason = ReasonIn(status.error_details());
  return reason.empty() ? converted : WithReason(reason, std::move(converted));
}

}  // namespace waggle
