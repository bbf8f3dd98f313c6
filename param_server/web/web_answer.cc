#include "param_server/web/web_answer.h"

#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kJson[] = "application/json";

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
      return 409;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return 503;
    default:
      return 500;
  }
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

HttpResponse FileAnswer(const HttpRequest& request, const std::string& content_type, std::string body) {
  HttpResponse response;
  response.content_type = content_type;
  const std::string tag = absl::StrCat("\"", absl::Hex(absl::HashOf(body), absl::kZeroPad16), "\"");
  response.headers = {{"ETag", tag}, {"Cache-Control", "no-cache"}};
  if (const auto known = request.headers.find("if-none-match");
      known != request.headers.end() && (known->second == tag || known->second == absl::StrCat("W/", tag))) {
    response.status = 304;
  } else {
    response.body = std::move(body);
  }
  return response;
}

HttpResponse JsonAnswer(const HttpRequest& request, const Json& json) {
  return FileAnswer(request, kJson, Dump(json));
}

HttpResponse ErrorAnswer(int http_status, const std::string& message) {
  HttpResponse response;
  response.status = http_status;
  response.content_type = kJson;
  response.headers = {{"Cache-Control", "no-store"}};
  response.body = Dump({{"error", {{"status", http_status}, {"message", message}}}});
  return response;
}

HttpResponse ErrorAnswer(const absl::Status& status) {
  return ErrorAnswer(HttpStatusOf(status), std::string(status.message()));
}

HttpResponse WrongMethod(const HttpRequest& request, const std::string& wanted) {
  HttpResponse response = ErrorAnswer(405, absl::StrCat("method: got ", request.method, "; wanted ", wanted));
  response.headers.emplace_back("Allow", wanted);
  return response;
}

}  // namespace waggle
