#include "cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;
using Servers = std::vector<std::string>;
using Words = std::vector<std::string>;

// Parses words that are separated by spaces.
Command Parse(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit("waggle " + line, ' ', absl::SkipEmpty());
  std::vector<const char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(word.c_str());
  }
  SecurityOptions security;
  return ParseCommand(static_cast<int>(arguments.size()), arguments.data(), &security);
}

PrintAndExit Printed(const Command& command) {
  REQUIRE(std::holds_alternative<PrintAndExit>(command));
  return std::get<PrintAndExit>(command);
}

// The flags of a line that is right.
template <class Flags>
Flags Parsed(const std::string& line) {
  const Command command = Parse(line);
  INFO(line);
  REQUIRE(std::holds_alternative<Flags>(command));
  return std::get<Flags>(command);
}

// Sets the variable with the hub's address during a test.
class HubVariable {
 public:
  HubVariable() { setenv("WAGGLE_PARAM_SERVER", "hive:1", 1); }
  ~HubVariable() { unsetenv("WAGGLE_PARAM_SERVER"); }
};

TEST_CASE("Verbs take the name of an experiment that ships in place of its file", "[unit]") {
  CHECK_THAT(Parsed<RunFlags>("run cartpole_ppo").file, Catch::EndsWith("/share/waggle/configs/cartpole_ppo.yaml"));
  CHECK_THAT(Parsed<CheckFlags>("check cartpole_ppo").file, Catch::EndsWith("/configs/cartpole_ppo.yaml"));
  CHECK_THAT(Parsed<SubmitFlags>("submit cartpole_ppo --param-server a:1").file,
             Catch::EndsWith("/configs/cartpole_ppo.yaml"));
  const PrintAndExit unknown = Printed(Parse("run cartpole_ppoo"));
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.text,
             Catch::Contains("FILE: got \"cartpole_ppoo\"") && Catch::Contains("did you mean \"cartpole_ppo\"?"));
}

TEST_CASE("run takes a file and its flags", "[unit]") {
  const auto flags = Parsed<RunFlags>(
      "run x.yaml --set a.b=c --actors 1e1 --set=d=[1,2] --seed=9007199254740993 --output-dir out --replay-servers 2 "
      "--learners 4");
  CHECK(flags.file == "x.yaml");
  CHECK(flags.output_dir == "out");
  CHECK(flags.plot);
  CHECK(flags.overrides == Overrides{{"a.b", "c"},
                                     {"d", "[1,2]"},
                                     {"actor.processes", "10"},
                                     {"replay.servers", "2"},
                                     {"learner.processes", "4"},
                                     {"experiment.seed", "9007199254740993"}});
  CHECK_FALSE(Parsed<RunFlags>("run x.yaml --no-plot").plot);
}

TEST_CASE("run goes on with an earlier run, without a file or with it, and to a later limit", "[unit]") {
  const auto flags = Parsed<RunFlags>("run --resume runs/x --max-env-steps 1e6");
  CHECK(flags.resume == "runs/x");
  CHECK(flags.file.empty());
  CHECK(flags.overrides == Overrides{{"stop.max_env_steps", "1000000"}});
  CHECK(Parsed<RunFlags>("run x.yaml --resume runs/x").file == "x.yaml");
}

TEST_CASE("Verbs of results take ids, and a hub that may be left out where a path is taken too", "[unit]") {
  const auto fetch = Parsed<FetchFlags>("fetch x-1 dir --json --param-server a:1");
  CHECK(fetch.id == "x-1");
  CHECK(fetch.folder == "dir");
  CHECK(fetch.json);
  CHECK(fetch.param_server == "a:1");
  const auto compare = Parsed<CompareFlags>("compare x-1 runs/y --by area --json");
  CHECK(compare.runs == Words{"x-1", "runs/y"});
  CHECK(compare.by == "area");
  CHECK(compare.json);
  CHECK(compare.param_server.empty());
  CHECK(Parsed<CompareFlags>("compare x").by == "result");
  const auto card = Parsed<CardFlags>("card x --out y --video");
  CHECK(card.run == "x");
  CHECK(card.folder == "y");
  CHECK(card.video);
  const HubVariable variable;
  CHECK(Parsed<EvaluationFlags>("evaluate x").param_server == "hive:1");
  CHECK(Parsed<PolicyFlags>("export x").param_server == "hive:1");
  CHECK(Parsed<PlotFlags>("plot x").param_server == "hive:1");
  CHECK(Parsed<CompareFlags>("compare x").param_server == "hive:1");
  CHECK(Parsed<CardFlags>("card x").param_server == "hive:1");
  CHECK(Parsed<FetchFlags>("fetch x").param_server == "hive:1");
}

TEST_CASE("evaluate takes a path to weights, and flags for the evaluation", "[unit]") {
  const auto plain = Parsed<EvaluationFlags>("evaluate runs/x");
  CHECK(plain.path == "runs/x");
  CHECK(plain.episodes == 100);
  CHECK_FALSE(plain.seed.has_value());
  const auto flags = Parsed<EvaluationFlags>("evaluate x --episodes 7 --seed 3 --device cpu --newest --json");
  CHECK(flags.episodes == 7);
  CHECK(flags.seed == 3);
  CHECK(flags.device == "cpu");
  CHECK(flags.newest);
  CHECK(flags.json);
  CHECK(flags.video.empty());
  const auto filmed = Parsed<EvaluationFlags>("evaluate x --video films --video-episodes 3");
  CHECK(filmed.video == "films");
  CHECK(filmed.video_episodes == 3);
  CHECK(Parsed<EvaluationFlags>("evaluate x --video films").video_episodes == 1);
}

TEST_CASE("export takes a path to weights, and a file to write", "[unit]") {
  const auto plain = Parsed<PolicyFlags>("export runs/x");
  CHECK(plain.path == "runs/x");
  CHECK(plain.output.empty());
  CHECK_FALSE(plain.newest);
  const auto flags = Parsed<PolicyFlags>("export runs/x y.onnx --newest");
  CHECK(flags.output == "y.onnx");
  CHECK(flags.newest);
}

TEST_CASE("record takes evaluate's flags, and a file to write", "[unit]") {
  const auto flags = Parsed<EvaluationFlags>("record runs/x --output y --episodes 7 --explore --newest");
  CHECK(flags.path == "runs/x");
  CHECK(flags.record == "y");
  CHECK(flags.episodes == 7);
  CHECK(flags.explore);
  CHECK(flags.newest);
}

TEST_CASE("play takes an environment, and flags for playing", "[unit]") {
  const auto plain = Parsed<PlayFlags>("play CartPole-v1");
  CHECK(plain.environment == "CartPole-v1");
  CHECK(plain.episodes == 1);
  CHECK_FALSE(plain.seed.has_value());
  CHECK_FALSE(plain.random);
  CHECK(plain.video.empty());
  const auto flags = Parsed<PlayFlags>(
      "play x.yaml --episodes 3 --seed 5 --random --json --video d --video-episodes 2 --set "
      "environment.options.gravity=3");
  CHECK(flags.episodes == 3);
  CHECK(flags.seed == 5);
  CHECK(flags.random);
  CHECK(flags.json);
  CHECK(flags.video == "d");
  CHECK(flags.video_episodes == 2);
  CHECK(flags.overrides == Overrides{{"environment.options.gravity", "3"}});
}

TEST_CASE("plot takes runs", "[unit]") {
  const auto flags = Parsed<PlotFlags>("plot a b --out c.png");
  CHECK(flags.runs == std::vector<std::string>{"a", "b"});
  CHECK(flags.out == "c.png");
  CHECK_FALSE(flags.returns_only);
  CHECK(Parsed<PlotFlags>("plot a --returns").returns_only);
}

TEST_CASE("serve-environment takes an environment, an address and the environment's options", "[unit]") {
  const auto flags = Parsed<ServeEnvironmentFlags>(
      "serve-environment Pendulum-v1 --listen 127.0.0.1:0 --set environment.options.gravity=3 --seed 7");
  CHECK(flags.name == "Pendulum-v1");
  CHECK(flags.listen == "127.0.0.1:0");
  CHECK(flags.overrides == Overrides{{"environment.options.gravity", "3"}});
  CHECK(flags.seed == 7);
}

TEST_CASE("replay exports a table and imports a file", "[unit]") {
  const auto out = Parsed<ExportFlags>("replay export t f.waggle --replay-server hive:1");
  CHECK(out.table == "t");
  CHECK(out.file == "f.waggle");
  CHECK(out.target.replay_servers == Servers{"hive:1"});
  const auto in = Parsed<ImportFlags>("replay import f.waggle --table copy --param-server hive:1");
  CHECK(in.file == "f.waggle");
  CHECK(in.table == "copy");
}

TEST_CASE("submit takes a file like run, and a priority", "[unit]") {
  const auto flags =
      Parsed<SubmitFlags>("submit x.yaml --set a.b=c --priority -3 --watch --json --param-server hive:1");
  CHECK(flags.file == "x.yaml");
  CHECK(flags.overrides == Overrides{{"a.b", "c"}});
  CHECK(flags.priority == -3);
  CHECK(flags.watch);
  CHECK(flags.json);
  CHECK(flags.param_server == "hive:1");
}

TEST_CASE("The verbs of experiments take an id, and a hub from the environment variable", "[unit]") {
  for (const std::string verb : {"watch", "stop", "resume", "delete", "logs"}) {
    INFO(verb);
    CHECK_THAT(Printed(Parse(verb + " --param-server hive:1")).text, Catch::Contains("ID is required"));
    CHECK(Printed(Parse(verb + " pole-1")).status == 2);
  }
  const HubVariable hub;
  const auto list = Parsed<ListFlags>("list --json");
  CHECK(list.param_server == "hive:1");
  CHECK(list.json);
  CHECK(list.limit == 100);
  CHECK(list.state == std::nullopt);
  CHECK(Parsed<ListFlags>("list --limit 7").limit == 7);
  CHECK(Parsed<ListFlags>("list --state stopped").state == RunState::kStopped);
  CHECK(Parsed<WatchFlags>("watch pole-1 --json").id == "pole-1");
  CHECK(Parsed<WatchFlags>("watch pole-1 --json").json);
  CHECK(Parsed<LogsFlags>("logs pole-1 --follow").follow);
  CHECK(Parsed<LogsFlags>("logs pole-1 --json").json);
  CHECK(Parsed<ChangeFlags>("stop pole-1 --json").change == ChangeFlags::Change::kStop);
  CHECK(Parsed<ChangeFlags>("stop pole-1 --json").json);
  CHECK(Parsed<ChangeFlags>("resume pole-1").change == ChangeFlags::Change::kResume);
  CHECK(Parsed<ChangeFlags>("delete pole-1").change == ChangeFlags::Change::kDelete);
  CHECK(Parsed<ChangeFlags>("delete pole-1 cart").ids == Words{"pole-1", "cart"});
  const auto priority = Parsed<ChangeFlags>("priority pole-1 cart --to -5");
  CHECK(priority.change == ChangeFlags::Change::kPriority);
  CHECK(priority.ids == Words{"pole-1", "cart"});
  CHECK(priority.priority == -5);
  CHECK(Printed(Parse("priority pole-1")).status == 2);
  const auto resume = Parsed<ChangeFlags>("resume pole-1 --max-env-steps 1e6 --target-return null");
  CHECK(resume.ids == Words{"pole-1"});
  CHECK(resume.limits == Overrides{{"stop.max_env_steps", "1e6"}, {"stop.target_return", "null"}});
  CHECK(Printed(Parse("stop pole-1 --max-env-steps 9")).status == 2);
}

TEST_CASE("submit takes sweeps, tags and an owner, and list their filters", "[unit]") {
  const HubVariable hub;
  const auto flags =
      Parsed<SubmitFlags>("submit x.yaml --sweep a=1,2 --sweep b=3 --seeds 4-5 --tag p --tag q --owner o");
  REQUIRE(flags.sweeps.size() == 3);
  CHECK(flags.sweeps[0].key == "a");
  CHECK(flags.sweeps[0].values == Words{"1", "2"});
  CHECK(flags.sweeps[2].key == "experiment.seed");
  CHECK(flags.tags == Words{"p", "q"});
  CHECK(flags.owner == "o");
  for (const std::string wrong : {"--sweep a", "--seeds x", "--seeds 1-2000", "--seeds 1 --seeds 2", "--sweep a=1,1"}) {
    INFO(wrong);
    CHECK(Printed(Parse("submit x.yaml " + wrong)).status == 2);
  }
  const auto list = Parsed<ListFlags>("list --group g --tag p --tag q --owner o --name n --flat");
  CHECK(list.group == "g");
  CHECK(list.tags == Words{"p", "q"});
  CHECK(list.owner == "o");
  CHECK(list.name == "n");
  CHECK(list.flat);
}

TEST_CASE("set takes an experiment and new values", "[unit]") {
  const HubVariable hub;
  const auto flags = Parsed<SetFlags>("set pole-1 algorithm.clip=0.1 algorithm.optimizer.learning_rate=1e-4 --dry-run");
  CHECK(flags.param_server == "hive:1");
  CHECK(flags.id == "pole-1");
  CHECK(flags.numbers == Overrides{{"algorithm.clip", "0.1"}, {"algorithm.optimizer.learning_rate", "1e-4"}});
  CHECK(flags.dry_run);
  CHECK_FALSE(flags.json);
  CHECK_THAT(Printed(Parse("set pole-1")).text, Catch::Contains("KEY=VALUE is required"));
  CHECK(Printed(Parse("set pole-1 algorithm.clip")).status == 2);
}

TEST_CASE("status takes an experiment, or replay servers one by one or separated by commas", "[unit]") {
  CHECK(Parsed<StatusFlags>("status --experiment pole-1 --param-server hive:2").target.experiment_id == "pole-1");
  const HubVariable hub;
  CHECK(Parsed<StatusFlags>("status pole-1").target.experiment_id == "pole-1");
  CHECK(Parsed<StatusFlags>("status").target.experiment_id.empty());
  CHECK_FALSE(Parsed<StatusFlags>("status").json);
  CHECK(Parsed<StatusFlags>("status --json").json);
  CHECK(Parsed<StatusFlags>("status").target.param_server == "hive:1");
  CHECK(Parsed<StatusFlags>("status --param-server hive:2").target.param_server == "hive:2");
  CHECK(Parsed<StatusFlags>("status --replay-server a:1,b:2 --replay-server [::1]:3").target.replay_servers ==
        Servers{"a:1", "b:2", "[::1]:3"});
}

TEST_CASE("health takes an address, and a service of the server", "[unit]") {
  CHECK(Parsed<HealthFlags>("health a:1").address == "a:1");
  CHECK(Parsed<HealthFlags>("health a:1").service.empty());
  CHECK(Parsed<HealthFlags>("health a:1 --service waggle.v1.ReplayService").service == "waggle.v1.ReplayService");
}

TEST_CASE("why takes a table, and replay servers or a hub that knows them", "[unit]") {
  const auto named = Parsed<WhyFlags>("why t --replay-server a:1 --replay-server b:2 --json");
  CHECK(named.table == "t");
  CHECK(named.target.replay_servers == Servers{"a:1", "b:2"});
  CHECK(named.json);
  CHECK(Parsed<WhyFlags>("why --experiment pole-1 --param-server hive:1").target.experiment_id == "pole-1");
  const HubVariable hub;
  CHECK(Parsed<WhyFlags>("why").target.param_server == "hive:1");
}

TEST_CASE("inspect takes a table and a choice of its items", "[unit]") {
  const TableQuestion question =
      Parsed<InspectFlags>("inspect t --replay-server a:1 --order highest --limit 7 --key 3 --key 18446744073709551615")
          .question;
  CHECK(question.table == "t");
  CHECK(question.order == "highest");
  CHECK(question.limit == 7);
  CHECK(question.keys == std::vector<uint64_t>{3, ~uint64_t{0}});
  CHECK_FALSE(question.item.has_value());
  const TableQuestion one = Parsed<InspectFlags>("inspect t --replay-server a:1 --item 5 --json").question;
  CHECK(one.item == 5);
  CHECK(one.in_full);
}

TEST_CASE("reconfigure takes a table and new values", "[unit]") {
  const auto flags = Parsed<ReconfigureFlags>(
      "reconfigure t max_items=5 rate_limiter.min_difference=-3 --replay-server a:1 --dry-run");
  CHECK(flags.table == "t");
  CHECK(flags.changes == Overrides{{"max_items", "5"}, {"rate_limiter.min_difference", "-3"}});
  CHECK(flags.dry_run);
}

TEST_CASE("An argument after the value of a repeatable flag is the verb's own", "[unit]") {
  const Servers servers = {"a:1", "b:2"};
  const auto why = Parsed<WhyFlags>("why --replay-server a:1,b:2 t");
  CHECK(why.table == "t");
  CHECK(why.target.replay_servers == servers);
  const auto inspect = Parsed<InspectFlags>("inspect --key 5 --replay-server a:1 --replay-server b:2 t");
  CHECK(inspect.question.table == "t");
  CHECK(inspect.question.keys == std::vector<uint64_t>{5});
  CHECK(inspect.target.replay_servers == servers);
  const auto reconfigure = Parsed<ReconfigureFlags>("reconfigure --replay-server a:1,b:2 t max_items=5 max_bytes=6");
  CHECK(reconfigure.table == "t");
  CHECK(reconfigure.changes == Overrides{{"max_items", "5"}, {"max_bytes", "6"}});
  const auto exported = Parsed<ExportFlags>("replay export --replay-server a:1 t f");
  CHECK(exported.table == "t");
  CHECK(exported.file == "f");
  CHECK(Parsed<ImportFlags>("replay import --replay-server a:1 f").file == "f");
  const auto check = Parsed<CheckFlags>("check --set learner.batch_size=7 experiment.yaml");
  CHECK(check.file == "experiment.yaml");
  CHECK(check.overrides == Overrides{{"learner.batch_size", "7"}});
}

TEST_CASE("Help and version go to the standard output, and help before a verb equals --help after it", "[unit]") {
  for (const std::string verb : {"run",
                                 "check",
                                 "evaluate",
                                 "record",
                                 "export",
                                 "play",
                                 "plot",
                                 "fetch",
                                 "compare",
                                 "card",
                                 "serve-environment",
                                 "submit",
                                 "list",
                                 "status",
                                 "watch",
                                 "stop",
                                 "resume",
                                 "delete",
                                 "set",
                                 "logs",
                                 "health",
                                 "why",
                                 "inspect",
                                 "reconfigure",
                                 "replay",
                                 "replay export"}) {
    INFO(verb);
    const PrintAndExit printed = Printed(Parse(verb + " --help"));
    CHECK(printed.status == 0);
    CHECK_FALSE(printed.text.empty());
    CHECK(Printed(Parse("help " + verb)).status == 0);
    CHECK(Printed(Parse("help " + verb)).text == printed.text);
  }
  for (const char* const all : {"-h", "help", "help help"}) {
    CHECK(Printed(Parse(all)).status == 0);
    CHECK(Printed(Parse(all)).text == Printed(Parse("--help")).text);
  }
  CHECK(Printed(Parse("--version")).status == 0);
  CHECK_THAT(Printed(Parse("--version")).text, Catch::StartsWith("waggle "));
  CHECK_THAT(Printed(Parse("run --help")).text, Catch::Contains("--output-dir DIR"));
}

TEST_CASE("Wrong usage prints one line with the wrong part, and exits with 2", "[unit]") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "a verb is missing; wanted one of configs, run, check, "},
      {"rnu", "did you mean \"run\"?"},
      {"help rnu", "did you mean \"run\"?"},
      {"evaluate", "PATH is required"},
      {"run --resume runs/x --output-dir y", "--output-dir"},
      {"run --resume=", "--resume"},
      {"fetch x", "--param-server"},
      {"compare", "RUN is required"},
      {"compare x --by speed", "--by"},
      {"card", "RUN is required"},
      {"evaluate x --video films --video-episodes 0", "--video-episodes"},
      {"evaluate x --video-episodes 3", "--video"},
      {"evaluate runs/x --output y", "--output"},
      {"record runs/x", "--output"},
      {"record runs/x --output y --episodes 0", "--episodes"},
      {"play", "ENV"},
      {"play x --episodes 0", "--episodes"},
      {"serve-environment Pendulum-v1", "--listen"},
      {"serve-environment --listen 127.0.0.1:0", "is required"},
      {"health", "HOST:PORT is required"},
      {"health nowhere", "HOST:PORT"},
      {"plot", "RUN is required"},
      {"run", "FILE is required"},
      {"run a.yaml b", "one argument too many: b"},
      {"run a.yaml --actor 3", "did you mean \"--actors\"?"},
      {"run a.yaml --seed", "--seed"},
      {"run a.yaml --set", "--set"},
      {"status", "--param-server or --replay-server is required"},
      {"status --param-server nowhere", "--param-server"},
      {"status --replay-server a:1,nowhere", "--replay-server"},
      {"status --replay-server ,", "--replay-server"},
      {"status pole-1 --experiment pole-2 --param-server hive:1", "--experiment"},
      {"why", "--param-server or --replay-server is required"},
      {"why --replay-server nowhere", "--replay-server"},
      {"inspect --replay-server a:1", "TABLE"},
      {"reconfigure t --replay-server a:1", "KEY=VALUE is required"},
      {"reconfigure t max_items --replay-server a:1", "max_items"},
      {"replay", "export"},
      {"replay exprt", "did you mean \"export\"?"},
      {"replay export t", "FILE"},
  };
  for (const auto& [line, says] : cases) {
    INFO(line);
    const PrintAndExit printed = Printed(Parse(line));
    CHECK(printed.status == 2);
    CHECK_THAT(printed.text, Catch::Contains(says) && Catch::EndsWith(" --help\n"));
    CHECK(std::count(printed.text.begin(), printed.text.end(), '\n') == 1);
  }
}

TEST_CASE("The error of a wrong flag value has the flag and the value", "[unit]") {
  const std::string huge = "99999999999999999999";
  struct Case {
    std::vector<std::string> command;
    std::string flag;
    std::vector<std::string> values;
  };
  const std::vector<std::string> run = {"run", "x.yaml"};
  const std::vector<std::string> inspect = {"inspect", "t", "--replay-server", "a:1"};
  const Case cases[] = {
      {run, "--actors", {"", "many", "-1", "0", "5000", huge}},
      {run, "--replay-servers", {"", "2.5", "-1", "0", "1025", huge}},
      {run, "--learners", {"", "two", "0", "65", huge}},
      {run, "--seed", {"", "lucky", "-1", huge}},
      {run, "--output-dir", {""}},
      {run, "--set", {"", "a", "=1"}},
      {{"evaluate", "x"}, "--episodes", {"", "all", "-1", "0", "10000001"}},
      {{"evaluate", "x"}, "--seed", {"", "lucky", "-1", huge}},
      {{"evaluate", "x"}, "--video", {""}},
      {{"plot", "x"}, "--out", {""}},
      {{"submit", "x.yaml", "--param-server", "a:1"}, "--priority", {"", "high"}},
      {{"check", "x.yaml"}, "--set", {"", "a"}},
      {{"status"}, "--param-server", {"", "a", "a:0", "a:65536"}},
      {{"status"}, "--replay-server", {"", "a", "a:-1"}},
      {inspect, "--order", {"", "best"}},
      {inspect, "--limit", {"", "all", "-1", "0", "1000001", huge}},
      {inspect, "--key", {"", "a", "-1", huge}},
      {inspect, "--item", {"", "a", "-1", huge}},
      {{"replay", "import", "f", "--replay-server", "a:1"},
       "--idle-timeout",
       {"", "long", "-1", "0", "1000000001", huge}},
  };
  for (const Case& one : cases) {
    for (const std::string& value : one.values) {
      for (const bool joined : {false, true}) {
        std::vector<const char*> arguments = {"waggle"};
        for (const std::string& word : one.command) {
          arguments.push_back(word.c_str());
        }
        const std::string flag = joined ? one.flag + "=" + value : one.flag;
        arguments.push_back(flag.c_str());
        if (!joined) {
          arguments.push_back(value.c_str());
        }
        INFO(one.command[0] << " " << flag << " \"" << value << "\"");
        SecurityOptions security;
        const PrintAndExit printed =
            Printed(ParseCommand(static_cast<int>(arguments.size()), arguments.data(), &security));
        CHECK(printed.status == 2);
        // "--flag=" is a flag without a value.
        CHECK_THAT(printed.text, Catch::Contains(": " + one.flag + ": ") && Catch::EndsWith(" --help\n") &&
                                     Catch::Contains(joined && value.empty() ? "1 required " : "\"" + value + "\""));
        CHECK(std::count(printed.text.begin(), printed.text.end(), '\n') == 1);
      }
    }
  }
  const char* const empty_path[] = {"waggle", "evaluate", ""};
  SecurityOptions security;
  CHECK_THAT(Printed(ParseCommand(3, empty_path, &security)).text, Catch::Contains(": PATH: got \"\""));
}

}  // namespace
}  // namespace waggle
