#include "common/rpc/status_convert.h"

#include <string>

#include "absl/strings/string_view.h"

namespace waggle {
namespace {

// In the trailing metadata, as gRPC encodes it. A longer one would not fit, and the peer would see nothing of it.
constexpr size_t kMaxTextBytes = 4096;

// What our INTERNAL carries: a google.rpc.Status of that code, which is what other programs expect in this place.
constexpr char kOwnInternal[] = "\x08\x0D";

bool ContinuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// As much of a message as fits, without half a character at its end.
absl::string_view FittingPart(absl::string_view text) {
  size_t encoded = 0;
  size_t size = 0;
  while (size < text.size()) {
    const char byte = text[size];
    encoded += byte >= 0x20 && byte <= 0x7E && byte != '%' ? 1 : 3;  // The others become "%XX".
    if (encoded > kMaxTextBytes) {
      break;
    }
    ++size;
  }
  while (size < text.size() && size > 0 && ContinuesCharacter(text[size])) {
    --size;
  }
  return text.substr(0, size);
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(FittingPart(status.message())),
                      absl::IsInternal(status) ? kOwnInternal : "");
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  if (status.error_code() == grpc::StatusCode::UNKNOWN && status.error_message() == "Stream removed") {
    return absl::UnavailableError("the peer went away");
  }
  if (status.error_code() == grpc::StatusCode::INTERNAL && status.error_details().empty()) {
    return absl::UnavailableError(status.error_message());
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace waggle
