#include "common/rpc/status_convert.h"

#include <string>

namespace waggle {
namespace {

// A longer message would not fit into the trailing metadata, and the peer would see nothing of it.
constexpr size_t kMaxMessageBytes = 4096;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, kMaxMessageBytes)));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  if (status.error_code() == grpc::StatusCode::UNKNOWN && status.error_message() == "Stream removed") {
    return absl::UnavailableError("the peer went away");
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace waggle
