#include "common/base/process/evaluation_flags.h"

#include <memory>
#include <string>
#include <vector>

#include "common/base/process/flags.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Reads them as the actor does.
EvaluationFlags Parsed(std::vector<std::string> arguments) {
  const std::shared_ptr<CLI::App> app = NewCommandLine("a test", "waggle-test");
  EvaluationFlags flags;
  LogOptions log;
  AddCommonFlags(app.get(), &log);
  AddPathFlag(app.get(), "--evaluate", &flags.path, "PATH", "What");
  AddEvaluationFlags(app.get(), &flags);
  AddRecordFlags(app.get(), "--record", &flags);
  std::vector<const char*> argv = {"waggle-test"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  REQUIRE_FALSE(ParseCommandLine(app.get(), static_cast<int>(argv.size()), argv.data()).has_value());
  CHECK(log.level == LogLevel::kWarning);
  return flags;
}

void CheckSame(const EvaluationFlags& a, const EvaluationFlags& b) {
  CHECK(a.path == b.path);
  CHECK(a.episodes == b.episodes);
  CHECK(a.seed == b.seed);
  CHECK(a.device == b.device);
  CHECK(a.newest == b.newest);
  CHECK(a.scripted == b.scripted);
  CHECK(a.json == b.json);
  CHECK(a.record == b.record);
  CHECK(a.explore == b.explore);
  CHECK(a.video == b.video);
  CHECK(a.video_episodes == b.video_episodes);
}

TEST_CASE("The actor reads the same flags of an evaluation", "[unit]") {
  EvaluationFlags flags;
  flags.path = "-a folder=with signs";
  CheckSame(Parsed(ActorArguments(flags)), flags);
  flags.episodes = 7;
  flags.seed = 0;
  flags.device = "cuda:1";
  flags.newest = true;
  flags.scripted = true;
  flags.json = true;
  flags.record = "a file";
  flags.explore = true;
  flags.video = "films of mine";
  flags.video_episodes = 3;
  CheckSame(Parsed(ActorArguments(flags)), flags);
}

}  // namespace
}  // namespace waggle
