#include "common/base/threads/thread.h"

#include <string>

#include "common/base/threads/stop_token.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a thread runs its function and is joined when destroyed", "[unit]") {
  bool ran = false;
  {
    const Thread thread("worker", [&] { ran = true; });
  }
  CHECK(ran);
}

TEST_CASE("a thread has its name, cut to what the kernel takes", "[unit]") {
  char name[16] = {};
  Thread("a name that is far too long", [&] { pthread_getname_np(pthread_self(), name, sizeof(name)); }).Join();
  CHECK(std::string(name) == "a name that is ");
}

TEST_CASE("assigning joins the thread that was there", "[unit]") {
  const StopToken stop;
  bool first_ended = false;
  Thread thread("first", [&] {
    stop.Wait();
    first_ended = true;
  });
  stop.RequestStop();
  thread = Thread("second", [] {});
  CHECK(first_ended);
  thread.Join();
  thread.Join();
  thread = Thread();
}

}  // namespace
}  // namespace waggle
