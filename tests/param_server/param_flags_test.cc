#include "param_server/param_flags.h"

#include <cstdlib>
#include <vector>

#include "common/base/process/flags.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// The flags, or the exit status of a wrong command line.
std::optional<int> Parse(std::vector<const char*> arguments, ParamFlags* flags) {
  const std::shared_ptr<CLI::App> app = NewCommandLine("test", "waggle-param-server");
  AddParamFlags(app.get(), flags);
  arguments.insert(arguments.begin(), "waggle-param-server");
  return ParseCommandLine(app.get(), static_cast<int>(arguments.size()), arguments.data());
}

absl::Status Check(const std::vector<const char*>& arguments) {
  ParamFlags flags;
  REQUIRE_FALSE(Parse(arguments, &flags).has_value());
  return flags.Check();
}

TEST_CASE("the default role of a parameter server is the hub", "[unit]") {
  ParamFlags flags;
  REQUIRE_FALSE(
      Parse({"--listen", "127.0.0.1:0", "--data-dir", "d", "--output-dir", "o/{id}", "--quotas", "q.yaml"}, &flags)
          .has_value());
  CHECK(flags.role == ParamRole::kHub);
  CHECK(flags.quotas == "q.yaml");
  REQUIRE_OK(flags.Check());
  CHECK(std::string(flags.Name()) == "param-server");
}

TEST_CASE("a hub serves its web page if it is given an address, which may have port 0", "[unit]") {
  ParamFlags flags;
  REQUIRE_FALSE(Parse({"--listen", "127.0.0.1:0", "--data-dir", "d"}, &flags).has_value());
  CHECK(flags.web.empty());
  REQUIRE_FALSE(Parse({"--listen", "127.0.0.1:0", "--data-dir", "d", "--web", "[::1]:0"}, &flags).has_value());
  CHECK(flags.web == "[::1]:0");
  REQUIRE_OK(flags.Check());
  CHECK(Parse({"--listen", "127.0.0.1:0", "--data-dir", "d", "--web", "here"}, &flags).has_value());
}

TEST_CASE("a gradient worker has a listening address and a preferred index", "[unit]") {
  ParamFlags flags;
  REQUIRE_FALSE(Parse({"--role", "reducer", "--listen", "0.0.0.0:7", "--advertise", "host:7", "--param-server", "hub:1",
                       "--index", "2"},
                      &flags)
                    .has_value());
  REQUIRE_OK(flags.Check());
  const GradientProcessOptions options = flags.Gradients();
  CHECK(options.listen == "0.0.0.0:7");
  CHECK(options.advertise == "host:7");
  CHECK(options.hub_address == "hub:1");
  CHECK(options.index == 2);
  CHECK(std::string(flags.Name()) == "reducer");
}

TEST_CASE("a role refuses flags of another role and needs its own", "[unit]") {
  const auto refused = [](const std::vector<const char*>& arguments, const std::string& flag) {
    const absl::Status status = Check(arguments);
    return absl::IsInvalidArgument(status) && status.message().substr(0, flag.size()) == flag;
  };
  CHECK(refused({"--listen", "127.0.0.1:0"}, "--data-dir"));
  CHECK(refused({"--listen", "127.0.0.1:0", "--role", "reducer"}, "--param-server"));
  CHECK(refused({"--listen", "127.0.0.1:0", "--data-dir", "d", "--index", "1"}, "--index"));
  CHECK(refused({"--listen", "127.0.0.1:0", "--role", "reducer", "--param-server", "h:1", "--data-dir", "d"},
                "--data-dir"));
  CHECK(refused({"--listen", "127.0.0.1:0", "--role", "reducer", "--param-server", "h:1", "--no-plot"}, "--no-plot"));
  CHECK(refused({"--listen", "127.0.0.1:0", "--role", "reducer", "--param-server", "h:1", "--quotas", "q.yaml"},
                "--quotas"));
  CHECK(refused({"--listen", "127.0.0.1:0", "--role", "reducer", "--param-server", "h:1", "--web", "127.0.0.1:0"},
                "--web"));
  const std::vector<const char*> hub = {"--listen", "127.0.0.1:0", "--data-dir", "d"};
  CHECK(refused({"--listen", "127.0.0.1:0", "--data-dir", "d", "--param-server", "h:1"}, "--param-server"));
  setenv("WAGGLE_PARAM_SERVER", "h:1", 1);
  CHECK(Check(hub).ok());
  unsetenv("WAGGLE_PARAM_SERVER");
  ParamFlags flags;
  CHECK(Parse({"--listen", "127.0.0.1:0", "--role", "primary"}, &flags) == 2);
}

}  // namespace
}  // namespace waggle
