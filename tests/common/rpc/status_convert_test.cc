#include "common/rpc/status_convert.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Statuses keep their code and message both ways", "[unit]") {
  CHECK(ToGrpcStatus(absl::OkStatus()).ok());
  CHECK(FromGrpcStatus(grpc::Status::OK).ok());
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "what happened");
    const grpc::Status converted = ToGrpcStatus(status);
    CHECK(static_cast<int>(converted.error_code()) == code);
    CHECK(converted.error_message() == "what happened");
    CHECK(FromGrpcStatus(converted) == status);
  }
}

TEST_CASE("A message too long for the trailing metadata is cut", "[unit]") {
  const grpc::Status status = ToGrpcStatus(absl::InternalError(std::string(100'000, 'x')));
  CHECK(status.error_message().size() == 4096);
  CHECK(ToGrpcStatus(absl::InternalError(std::string(4096, 'x'))).error_message().size() == 4096);
}

TEST_CASE("A message is cut by what it takes once encoded, and between two characters", "[unit]") {
  std::string umlauts;
  for (int i = 0; i < 5'000; ++i) {
    umlauts += "\xC3\xA4";  // Each byte becomes three.
  }
  const std::string cut = ToGrpcStatus(absl::InternalError(umlauts)).error_message();
  CHECK(cut.size() == 4096 / 6 * 2);
  CHECK(cut == umlauts.substr(0, cut.size()));
  CHECK(ToGrpcStatus(absl::InternalError(std::string(5'000, '%'))).error_message().size() == 4096 / 3);
  CHECK(ToGrpcStatus(absl::InternalError(std::string(5'000, '\xA4'))).error_message().size() <= 4096 / 3);
}

TEST_CASE("An internal error that no program of ours sent is a connection that broke", "[unit]") {
  CHECK(FromGrpcStatus(grpc::Status(grpc::StatusCode::INTERNAL, "Received RST_STREAM with error code 2")) ==
        absl::UnavailableError("Received RST_STREAM with error code 2"));
  CHECK(FromGrpcStatus(ToGrpcStatus(absl::InternalError("a bug"))) == absl::InternalError("a bug"));
}

TEST_CASE("A removed stream is a peer that went away", "[unit]") {
  CHECK(FromGrpcStatus(grpc::Status(grpc::StatusCode::UNKNOWN, "Stream removed")).code() ==
        absl::StatusCode::kUnavailable);
  CHECK(FromGrpcStatus(grpc::Status(grpc::StatusCode::UNKNOWN, "something else")).code() == absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace waggle
