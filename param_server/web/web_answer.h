#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "common/net/http/http_server.h"

namespace waggle {

// Answers of the hub's web server.

// With an ETag: 304 without a body if the client has this answer already.
HttpResponse FileAnswer(const HttpRequest& request, const std::string& content_type, std::string body);
// Invalid UTF-8 is replaced.
HttpResponse JsonAnswer(const HttpRequest& request, const nlohmann::ordered_json& json);
// {"error": {"status": 404, "message": "…"}}.
HttpResponse ErrorAnswer(int http_status, const std::string& message);
HttpResponse ErrorAnswer(const absl::Status& status);
// 405: the path has other methods, `wanted`: "GET, HEAD".
HttpResponse WrongMethod(const HttpRequest& request, const std::string& wanted);

}  // namespace waggle
