#include "common/net/status_convert.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/reason.h"
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

TEST_CASE("A failure to connect because of certificates says what to do", "[unit]") {
  const auto text = [](const std::string& why) {
    return std::string(
        FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "failed to connect to all addresses; " + why}).message());
  };
  CHECK_THAT(text("certificate verify failed"), Catch::Contains("ca.crt of --tls"));
  CHECK_THAT(text("wrong version number"), Catch::Contains("--tls must be left out"));
  CHECK_THAT(text("Socket closed"), Catch::Contains("see --tls"));
  CHECK_THAT(text("Connection refused"), !Catch::Contains("--tls"));
  CHECK(FromGrpcStatus({grpc::StatusCode::UNAVAILABLE, "Socket closed"}).message() == "Socket closed");
}

TEST_CASE("A message too long for the trailing metadata is cut", "[unit]") {
  const grpc::Status status = ToGrpcStatus(absl::InternalError(std::string(100'000, 'x')));
  CHECK(status.error_message().size() == 4096);
  CHECK(ToGrpcStatus(absl::InternalError(std::string(4096, 'x'))).error_message().size() == 4096);
}

TEST_CASE("A message is cut by its encoded size, between two characters", "[unit]") {
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

TEST_CASE("An internal error that is not ours is a connection that broke", "[unit]") {
  CHECK(FromGrpcStatus(grpc::Status(grpc::StatusCode::INTERNAL, "Received RST_STREAM with error code 2")) ==
        absl::UnavailableError("Received RST_STREAM with error code 2"));
  CHECK(FromGrpcStatus(ToGrpcStatus(absl::InternalError("a bug"))) == absl::InternalError("a bug"));
}

TEST_CASE("An unknown method gets a message, as gRPC sends none", "[unit]") {
  const absl::Status status = FromGrpcStatus(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, ""));
  REQUIRE_CODE(status, absl::StatusCode::kUnimplemented);
  CHECK(status.message() == "the server does not know this method: it is of another kind, or another version");
}

TEST_CASE("The reason of a refusal travels with its status", "[unit]") {
  const absl::Status refused = WithReason("bad_priority", absl::InvalidArgumentError("priority -1"));
  const grpc::Status sent = ToGrpcStatus(refused);
  CHECK(sent.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(sent.error_message() == "priority -1");
  CHECK(ReasonOf(FromGrpcStatus(sent)) == "bad_priority");
  CHECK(FromGrpcStatus(sent) == refused);
  // An INTERNAL with a reason is not a connection that broke.
  CHECK(FromGrpcStatus(ToGrpcStatus(WithReason("odd", absl::InternalError("a bug")))).code() ==
        absl::StatusCode::kInternal);
  CHECK(ReasonOf(FromGrpcStatus(ToGrpcStatus(absl::InvalidArgumentError("priority -1")))).empty());
}

TEST_CASE("The details are google.rpc.Status with an ErrorInfo, byte for byte", "[unit]") {
  const grpc::Status sent = ToGrpcStatus(WithReason("disk", absl::UnavailableError("full")));
  const std::string url = "type.googleapis.com/google.rpc.ErrorInfo";
  CHECK(url.size() == 0x28);
  const std::string info =
      "\x0A\x04"
      "disk"
      "\x12\x06"
      "waggle";
  CHECK(sent.error_details() ==
        "\x08\x0E\x12\x04"
        "full"
        "\x1A\x3A\x0A\x28" +
            url + "\x12\x0E" + info);
}

TEST_CASE("A refusal with a long message still fits into the trailing metadata", "[unit]") {
  const grpc::Status sent =
      ToGrpcStatus(WithReason("bad_configuration", absl::InvalidArgumentError(std::string(100'000, 'x'))));
  // The details travel in base 64. All metadata of a call may have 8 KiB.
  CHECK(sent.error_message().size() + (sent.error_details().size() + 2) / 3 * 4 < 7'500);
  CHECK(sent.error_message().size() == 3072);
  CHECK(ReasonOf(FromGrpcStatus(sent)) == "bad_configuration");
}

TEST_CASE("Details that are not ours, or not a message, give no reason", "[unit]") {
  const auto reason_in = [](const std::string& details) {
    return ReasonOf(FromGrpcStatus(grpc::Status(grpc::StatusCode::NOT_FOUND, "no", details)));
  };
  const std::string ours = ToGrpcStatus(WithReason("unknown_table", absl::NotFoundError("no"))).error_details();
  CHECK(reason_in(ours) == "unknown_table");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"waggle", "google"}, {"ErrorInfo", "RetryInfo"}, {"unknown_table", "unknown\033[2J_"}}) {
    std::string other = ours;
    REQUIRE(other.find(from) != std::string::npos);
    other.replace(other.find(from), from.size(), to.substr(0, from.size()));
    CHECK(reason_in(other).empty());
  }
  for (size_t size = 0; size < ours.size(); ++size) {
    CHECK(reason_in(ours.substr(0, size)).empty());
  }
}

TEST_CASE("A removed stream is a peer that went away", "[unit]") {
  CHECK(FromGrpcStatus(grpc::Status(grpc::StatusCode::UNKNOWN, "Stream removed")).code() ==
        absl::StatusCode::kUnavailable);
  CHECK(FromGrpcStatus(grpc::Status(grpc::StatusCode::UNKNOWN, "something else")).code() == absl::StatusCode::kUnknown);
}

TEST_CASE("A call that a shutdown cut off is unavailable", "[unit]") {
  const absl::Status status = FromGrpcStatus(grpc::Status(grpc::StatusCode::UNAVAILABLE, "Cancelling all calls"));
  CHECK(status == absl::UnavailableError("the server has ended"));
}

}  // namespace
}  // namespace waggle
