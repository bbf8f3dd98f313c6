#include "common/base/log_context.h"

#include <string>

#include "common/base/threads/thread.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("scopes add to the thread's context and end with it", "[unit]") {
  const LogScope order({"cartpole-x7k2p", "actor-1", ""});
  {
    const LogScope call({"", "", "0af7651916cd43dd8448eb211c80319c"});
    CHECK(CurrentLogContext().experiment == "cartpole-x7k2p");
    CHECK(CurrentLogContext().worker == "actor-1");
    CHECK(CurrentLogContext().trace_id == "0af7651916cd43dd8448eb211c80319c");
    CHECK(ThreadTraceId() == "0af7651916cd43dd8448eb211c80319c");
  }
  CHECK(CurrentLogContext().trace_id.empty());
  CHECK(CurrentLogContext().worker == "actor-1");
  Thread("other", [] { CHECK(CurrentLogContext().experiment.empty()); }).Join();
}

TEST_CASE("the process's context is that of threads without their own", "[unit]") {
  SetProcessLogContext({"one", "actor-1", ""});
  const LogScope scope({"two", "", ""});
  CHECK(CurrentLogContext().experiment == "two");
  CHECK(CurrentLogContext().worker == "actor-1");
  Thread("other", [] { CHECK(CurrentLogContext().experiment == "one"); }).Join();
  SetProcessLogContext({});
  Thread("other", [] { CHECK(CurrentLogContext().experiment.empty()); }).Join();
}

TEST_CASE("a trace id comes out of the header that is made of it", "[unit]") {
  const std::string id = NewTraceId();
  CHECK(id.size() == 32);
  CHECK(id != NewTraceId());
  const std::string header = TraceParent(id);
  CHECK(header.size() == 55);
  CHECK(TraceIdIn(header) == id);
  CHECK(header != TraceParent(id));  // Each call is a span of its own.
}

TEST_CASE("malformed trace headers have no trace", "[unit]") {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  CHECK(TraceIdIn(good) == "0af7651916cd43dd8448eb211c80319c");
  CHECK(TraceIdIn("01" + good.substr(2) + "-more") == "0af7651916cd43dd8448eb211c80319c");
  CHECK(TraceIdIn("").empty());
  CHECK(TraceIdIn(good.substr(1)).empty());
  CHECK(TraceIdIn("ff" + good.substr(2)).empty());
  CHECK(TraceIdIn("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01").empty());
  CHECK(TraceIdIn("00-00000000000000000000000000000000-b7ad6b7169203331-01").empty());
  CHECK(TraceIdIn("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01").empty());
  CHECK(TraceIdIn("00-0af7651916cd43dd8448eb211c8031\"c-b7ad6b7169203331-01").empty());
}

}  // namespace
}  // namespace waggle
