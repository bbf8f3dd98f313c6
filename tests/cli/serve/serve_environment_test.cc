#include "cli/serve/serve_environment.h"

#include <sstream>
#include <string>

#include "actor/environments/rpc/rpc_environments.h"
#include "common/base/threads/thread.h"
#include "common/net/channel.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::ValueOf;

// The text written so far, for two threads.
class Line : public std::stringbuf {
 public:
  std::string Text() {
    MutexLock lock(&mutex_);
    return whole_;
  }

 private:
  int sync() override {
    MutexLock lock(&mutex_);
    whole_ = str();
    return 0;
  }

  Mutex mutex_;
  std::string whole_ ABSL_GUARDED_BY(mutex_);
};

TEST_CASE("A built-in environment is served until a stop", "[grpc]") {
  ServeEnvironmentFlags flags;
  flags.name = "Pendulum-v1";
  flags.listen = "127.0.0.1:0";
  const StopToken stop;
  Line line;
  absl::Status served;
  {
    Thread server("server", [&] {
      std::ostream out(&line);
      served = ServeEnvironment(flags, stop, &out);
    });
    Eventually("the server says where it is", [&] { return line.Text().find('\n') != std::string::npos; });
    const std::string text = line.Text();
    CHECK_THAT(text, Catch::StartsWith("serves Pendulum-v1 at 127.0.0.1:"));
    const std::string address = text.substr(text.find("127"), text.size() - text.find("127") - 1);
    RpcEnvironmentsOptions options;
    options.servers = {{address, NewChannel(address, "test")}};
    options.session.spec.environment_name = "dm_env_rpc";
    {
      const auto environment = ValueOf(RpcEnvironments::Create(options, StopToken()));
      CHECK(environment->spec().actions[0].DebugString() == "action: float32[1] in [-2, 2]");
    }
    stop.RequestStop();
  }
  REQUIRE_OK(served);
}

TEST_CASE("Unknown environments and options, and unusable addresses, are refused", "[unit]") {
  const auto result = [](const std::string& name, const std::string& listen, const std::string& key = "",
                         const std::string& value = "") {
    ServeEnvironmentFlags flags;
    flags.name = name;
    flags.listen = listen;
    if (!key.empty()) {
      flags.overrides = {{key, value}};
    }
    std::ostringstream out;
    const StopToken stopped;
    stopped.RequestStop();
    return ServeEnvironment(flags, stopped, &out);
  };
  const std::string name = "Pendulum-v1", free = "127.0.0.1:0";
  REQUIRE_OK(result(name, free));
  for (const absl::Status& refused :
       {result("Pendulum-v9", free), result(name, "127.0.0.1:99999"), result(name, free, "environment.optoins.x", "1"),
        result(name, free, "environment.gymnasium.id", "CartPole-v1"),
        result(name, free, "environment.transforms", "[flatten]")}) {
    CAPTURE(refused.message());
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace waggle
