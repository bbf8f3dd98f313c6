#include "common/net/grpc_log.h"

#include <grpc/support/log.h>
#include <unistd.h>

#include <string>

#include "common/base/log.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// The text that `say` writes to the standard error stream.
template <class Function>
std::string Written(const Function& say) {
  testing::CapturedStream captured(STDERR_FILENO);
  InitLogging("learner", LogLevel::kInfo);
  say();
  const std::string text = captured.Finish();
  InitLogging("waggle", LogLevel::kInfo);
  return text;
}

TEST_CASE("A message of gRPC is a line of our log", "[unit]") {
  TakeGrpcLog();
  const std::string text = Written([] { gpr_log("src/core/a.cc", 7, GPR_LOG_SEVERITY_ERROR, "no %s\nleft", "files"); });
  CHECK_THAT(text, Catch::Contains("error learner[") && Catch::EndsWith("] gRPC: a.cc:7: no files\\nleft\n"));
}

}  // namespace
}  // namespace waggle
