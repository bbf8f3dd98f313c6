#include "param_server/web/web_guard.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("loopback addresses are those of this machine alone", "[unit]") {
  for (const char* const address : {"127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"}) {
    INFO(address);
    CHECK(IsLoopbackAddress(address));
  }
  for (const char* const address :
       {"", "128.0.0.1", "10.0.0.127", "::2", "::ffff:10.0.0.1", "localhost", "127.0.0.1 "}) {
    INFO(address);
    CHECK_FALSE(IsLoopbackAddress(address));
  }
}

TEST_CASE("loopback hosts are its names, with or without a port", "[unit]") {
  for (const char* const host : {"localhost", "LocalHost:80", "127.0.0.1:7080", "[::1]:7080", "[::1]"}) {
    INFO(host);
    CHECK(IsLoopbackHost(host));
  }
  for (const char* const host :
       {"", "localhost.example.org", "127.0.0.1.example.org:80", "evil.example", "[::2]:80", "10.0.0.1", "null"}) {
    INFO(host);
    CHECK_FALSE(IsLoopbackHost(host));
  }
}

HttpRequest FromHere() {
  HttpRequest request;
  request.method = "POST";
  request.peer = "127.0.0.1";
  request.headers = {{"host", "127.0.0.1:7080"}};
  return request;
}

TEST_CASE("only users of this machine may make changes", "[unit]") {
  HttpRequest request = FromHere();
  CHECK(CheckMayChange(request).ok());
  request.headers["origin"] = "http://127.0.0.1:7080";
  CHECK(CheckMayChange(request).ok());

  SECTION("not from another machine") {
    request.peer = "10.0.0.7";
  }
  SECTION("not from an unknown peer") {
    request.peer = "";
  }
  SECTION("not through a proxy") {
    request.headers["x-forwarded-for"] = "127.0.0.1";
  }
  SECTION("not by a name that was made to point here") {
    request.headers["host"] = "evil.example:7080";
    request.headers["origin"] = "http://evil.example:7080";
  }
  SECTION("not without a name") {
    request.headers.erase("host");
  }
  SECTION("not from a page of another site") {
    request.headers["origin"] = "http://evil.example";
  }
  SECTION("not from a page of another server of this machine") {
    request.headers["origin"] = "http://127.0.0.1:3000";
  }
  SECTION("not from a page without an origin") {
    request.headers["origin"] = "null";
  }
  SECTION("not from an empty origin") {
    request.headers["origin"] = "";
  }
  CHECK(absl::IsPermissionDenied(CheckMayChange(request)));
}

}  // namespace
}  // namespace waggle
