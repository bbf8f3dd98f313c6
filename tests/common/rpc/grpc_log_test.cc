#include "common/rpc/grpc_log.h"

#include <grpc/support/log.h>
#include <unistd.h>

#include <string>

#include "common/base/log.h"
#include "common/base/thread.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// What `say` has written to the standard error stream.
template <class Function>
std::string Written(const Function& say) {
  testing::CapturedStream captured(STDERR_FILENO);
  InitLogging("learner", LogLevel::kInfo);
  say();
  const std::string text = captured.Finish();
  InitLogging("waggle", LogLevel::kInfo);
  return text;
}

TEST_CASE("What gRPC says is a line of our log", "[unit]") {
  TakeGrpcLog();
  const std::string text = Written([] { gpr_log("src/core/a.cc", 7, GPR_LOG_SEVERITY_ERROR, "no %s\nleft", "files"); });
  CHECK_THAT(text, Catch::Contains("error learner[") && Catch::EndsWith("] gRPC: a.cc:7: no files\\nleft\n"));
}

TEST_CASE("What gRPC says to a caller that has it in its own error is not logged, nor that of others kept", "[unit]") {
  std::string text;
  const std::string logged = Written([&text] {
    const KeptGrpcLog outer;
    {
      const KeptGrpcLog said;
      gpr_log(GPR_ERROR, "the first");
      Thread("other", [] { gpr_log(GPR_ERROR, "another thread's"); }).Join();
      gpr_log(GPR_ERROR, "the second");
      text = said.text();
    }
    CHECK(outer.text().empty());
  });
  CHECK(text == "the first\nthe second\n");
  CHECK_THAT(logged, Catch::Contains("another thread's") && !Catch::Contains("the first"));
  CHECK_THAT(Written([] { gpr_log(GPR_ERROR, "afterwards"); }), Catch::Contains("afterwards"));
}

}  // namespace
}  // namespace waggle
