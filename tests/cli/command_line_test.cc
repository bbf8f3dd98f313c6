#include "cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

Command Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "waggle");
  return ParseCommand(static_cast<int>(arguments.size()), arguments.data());
}

PrintAndExit Printed(const std::vector<const char*>& arguments) {
  const Command command = Parse(arguments);
  REQUIRE(std::holds_alternative<PrintAndExit>(command));
  return std::get<PrintAndExit>(command);
}

TEST_CASE("run takes a file and its flags", "[unit]") {
  const Command command = Parse({"run", "x.yaml", "--set", "a.b=c", "--actors", "3", "--set=d=[1, 2]", "--seed", "7",
                                 "--output-dir", "out", "--replay-servers", "2", "--learners", "4"});
  REQUIRE(std::holds_alternative<RunFlags>(command));
  const RunFlags& flags = std::get<RunFlags>(command);
  CHECK(flags.file == "x.yaml");
  CHECK(flags.output_dir == "out");
  CHECK(flags.overrides == Overrides{{"a.b", "c"},
                                     {"d", "[1, 2]"},
                                     {"actor.processes", "3"},
                                     {"replay.servers", "2"},
                                     {"learner.processes", "4"},
                                     {"experiment.seed", "7"}});
}

TEST_CASE("evaluate takes a path to weights, and flags for the evaluation", "[unit]") {
  const Command plain = Parse({"evaluate", "runs/x"});
  REQUIRE(std::holds_alternative<EvaluationFlags>(plain));
  CHECK(std::get<EvaluationFlags>(plain).path == "runs/x");
  CHECK(std::get<EvaluationFlags>(plain).episodes == 100);
  CHECK_FALSE(std::get<EvaluationFlags>(plain).seed.has_value());
  const Command full =
      Parse({"evaluate", "x", "--episodes", "7", "--seed", "3", "--device", "cpu", "--newest", "--json"});
  REQUIRE(std::holds_alternative<EvaluationFlags>(full));
  const EvaluationFlags& flags = std::get<EvaluationFlags>(full);
  CHECK(flags.episodes == 7);
  CHECK(flags.seed == 3);
  CHECK(flags.device == "cpu");
  CHECK(flags.newest);
  CHECK(flags.json);
  CHECK(flags.video.empty());
  const Command filmed = Parse({"evaluate", "x", "--video", "films", "--video-episodes", "3"});
  REQUIRE(std::holds_alternative<EvaluationFlags>(filmed));
  CHECK(std::get<EvaluationFlags>(filmed).video == "films");
  CHECK(std::get<EvaluationFlags>(filmed).video_episodes == 3);
  CHECK(std::get<EvaluationFlags>(Parse({"evaluate", "x", "--video", "films"})).video_episodes == 1);
  for (const std::vector<const char*>& wrong :
       std::vector<std::vector<const char*>>{{"evaluate", "x", "--video", "films", "--video-episodes", "0"},
                                             {"evaluate", "x", "--video-episodes", "3"},
                                             {"evaluate", "x", "--video", ""},
                                             {"evaluate", "x", "--episodes", "0"}}) {
    CHECK(Printed(wrong).status == 2);
    CHECK_THAT(Printed(wrong).text, Catch::Contains(wrong[2]));
  }
  CHECK(Printed({"evaluate", ""}).text ==
        "waggle evaluate: PATH: got \"\"; wanted a folder; see waggle evaluate --help\n");
}

TEST_CASE("record takes evaluate's flags, and a file to write", "[unit]") {
  const Command command = Parse({"record", "runs/x", "--output", "y", "--episodes", "7", "--explore", "--newest"});
  REQUIRE(std::holds_alternative<EvaluationFlags>(command));
  const EvaluationFlags& flags = std::get<EvaluationFlags>(command);
  CHECK(flags.path == "runs/x");
  CHECK(flags.record == "y");
  CHECK(flags.episodes == 7);
  CHECK(flags.explore);
  CHECK(flags.newest);
  CHECK(Printed({"record", "runs/x"}).status == 2);
  CHECK(Printed({"record", "runs/x", "--output", "y", "--episodes", "0"}).status == 2);
  CHECK(Printed({"evaluate", "runs/x", "--output", "y"}).status == 2);
  CHECK_THAT(Printed({"record", "", "--output", "y"}).text, Catch::StartsWith("waggle record: PATH: "));
}

TEST_CASE("play takes an environment, and flags for playing", "[unit]") {
  const Command plain = Parse({"play", "CartPole-v1"});
  REQUIRE(std::holds_alternative<PlayFlags>(plain));
  CHECK(std::get<PlayFlags>(plain).environment == "CartPole-v1");
  CHECK(std::get<PlayFlags>(plain).episodes == 1);
  CHECK_FALSE(std::get<PlayFlags>(plain).seed.has_value());
  CHECK_FALSE(std::get<PlayFlags>(plain).random);
  CHECK(std::get<PlayFlags>(plain).video.empty());
  const Command full = Parse({"play", "x.yaml", "--episodes", "3", "--seed", "5", "--random", "--json", "--video", "d",
                              "--video-episodes", "2", "--set", "environment.options.gravity=3"});
  REQUIRE(std::holds_alternative<PlayFlags>(full));
  const PlayFlags& flags = std::get<PlayFlags>(full);
  CHECK(flags.episodes == 3);
  CHECK(flags.seed == 5);
  CHECK(flags.random);
  CHECK(flags.json);
  CHECK(flags.video == "d");
  CHECK(flags.video_episodes == 2);
  CHECK(flags.overrides == Overrides{{"environment.options.gravity", "3"}});
  CHECK(Printed({"play"}).status == 2);
  CHECK(Printed({"play", "x", "--episodes", "0"}).status == 2);
}

TEST_CASE("plot takes runs, and run has a flag to draw none", "[unit]") {
  const Command command = Parse({"plot", "a", "b", "--out", "c.png"});
  REQUIRE(std::holds_alternative<PlotFlags>(command));
  CHECK(std::get<PlotFlags>(command).runs == std::vector<std::string>{"a", "b"});
  CHECK(std::get<PlotFlags>(command).out == "c.png");
  CHECK(std::get<PlotFlags>(Parse({"plot", "a"})).out.empty());
  CHECK_FALSE(std::get<PlotFlags>(command).returns_only);
  CHECK(std::get<PlotFlags>(Parse({"plot", "a", "--returns"})).returns_only);
  CHECK(std::get<RunFlags>(Parse({"run", "x.yaml"})).plot);
  CHECK_FALSE(std::get<RunFlags>(Parse({"run", "x.yaml", "--no-plot"})).plot);
}

TEST_CASE("serve-environment takes an environment, an address and the environment's options", "[unit]") {
  const Command command = Parse({"serve-environment", "Pendulum-v1", "--listen", "127.0.0.1:0", "--set",
                                 "environment.options.gravity=3", "--seed", "7"});
  REQUIRE(std::holds_alternative<ServeEnvironmentFlags>(command));
  const ServeEnvironmentFlags& flags = std::get<ServeEnvironmentFlags>(command);
  CHECK(flags.name == "Pendulum-v1");
  CHECK(flags.listen == "127.0.0.1:0");
  CHECK(flags.overrides == Overrides{{"environment.options.gravity", "3"}});
  CHECK(flags.seed == 7);
  CHECK(Printed({"serve-environment", "Pendulum-v1"}).status == 2);
  CHECK(Printed({"serve-environment", "--listen", "127.0.0.1:0"}).status == 2);
}

TEST_CASE("replay exports a table and imports a file", "[unit]") {
  const Command out = Parse({"replay", "export", "t", "f.waggle", "--replay-server", "hive:1"});
  REQUIRE(std::holds_alternative<ExportFlags>(out));
  CHECK(std::get<ExportFlags>(out).table == "t");
  CHECK(std::get<ExportFlags>(out).file == "f.waggle");
  CHECK(std::get<ExportFlags>(out).target.replay_servers == std::vector<std::string>{"hive:1"});
  const Command in = Parse({"replay", "import", "f.waggle", "--table", "copy", "--param-server", "hive:1"});
  REQUIRE(std::holds_alternative<ImportFlags>(in));
  CHECK(std::get<ImportFlags>(in).file == "f.waggle");
  CHECK(std::get<ImportFlags>(in).table == "copy");
  CHECK(Printed({"replay", "exprt"}).text.find("did you mean \"export\"") != std::string::npos);
  CHECK(Printed({"replay"}).status == 2);
  CHECK(Printed({"replay", "export", "t"}).status == 2);
}

TEST_CASE("check takes a file and overrides", "[unit]") {
  const Command command = Parse({"check", "--set", "a=1", "x.yaml"});
  REQUIRE(std::holds_alternative<CheckFlags>(command));
  CHECK(std::get<CheckFlags>(command).file == "x.yaml");
  CHECK(std::get<CheckFlags>(command).overrides == Overrides{{"a", "1"}});
}

TEST_CASE("submit takes a file like run, and a priority", "[unit]") {
  const Command command = Parse(
      {"submit", "x.yaml", "--set", "a.b=c", "--priority", "-3", "--watch", "--json", "--param-server", "hive:1"});
  REQUIRE(std::holds_alternative<SubmitFlags>(command));
  const SubmitFlags& flags = std::get<SubmitFlags>(command);
  CHECK(flags.file == "x.yaml");
  CHECK(flags.overrides == Overrides{{"a.b", "c"}});
  CHECK(flags.priority == -3);
  CHECK(flags.watch);
  CHECK(flags.json);
  CHECK(flags.param_server == "hive:1");
}

TEST_CASE("The verbs of experiments take an id, and a hub from the environment variable", "[unit]") {
  setenv("WAGGLE_PARAM_SERVER", "hive:1", 1);
  const Command list = Parse({"list", "--json"});
  const Command stopped = Parse({"list", "--limit", "7", "--state", "stopped"});
  const Command watch = Parse({"watch", "pole-1", "--json"});
  const Command logs = Parse({"logs", "pole-1", "--follow"});
  const Command status = Parse({"status", "pole-1"});
  const Command pool = Parse({"status"});
  const Command stop = Parse({"stop", "pole-1"});
  const Command resume = Parse({"resume", "pole-1"});
  const Command gone = Parse({"delete", "pole-1"});
  unsetenv("WAGGLE_PARAM_SERVER");
  REQUIRE(std::holds_alternative<ListFlags>(list));
  CHECK(std::get<ListFlags>(list).param_server == "hive:1");
  CHECK(std::get<ListFlags>(list).json);
  CHECK(std::get<ListFlags>(list).limit == 100);
  CHECK(std::get<ListFlags>(list).state == std::nullopt);
  REQUIRE(std::holds_alternative<ListFlags>(stopped));
  CHECK(std::get<ListFlags>(stopped).limit == 7);
  CHECK(std::get<ListFlags>(stopped).state == RunState::kStopped);
  REQUIRE(std::holds_alternative<WatchFlags>(watch));
  CHECK(std::get<WatchFlags>(watch).id == "pole-1");
  CHECK(std::get<WatchFlags>(watch).json);
  REQUIRE(std::holds_alternative<LogsFlags>(logs));
  CHECK(std::get<LogsFlags>(logs).follow);
  CHECK(std::get<LogsFlags>(Parse({"logs", "pole-1", "--json", "--param-server", "hive:1"})).json);
  REQUIRE(std::holds_alternative<StatusFlags>(status));
  CHECK(std::get<StatusFlags>(status).target.experiment_id == "pole-1");
  CHECK(std::get<StatusFlags>(pool).target.experiment_id.empty());
  CHECK(std::get<ChangeFlags>(stop).change == ChangeFlags::Change::kStop);
  CHECK(std::get<ChangeFlags>(resume).change == ChangeFlags::Change::kResume);
  CHECK(std::get<ChangeFlags>(gone).change == ChangeFlags::Change::kDelete);
  CHECK(std::get<ChangeFlags>(gone).id == "pole-1");
  CHECK(std::get<ChangeFlags>(Parse({"stop", "pole-1", "--json", "--param-server", "hive:1"})).json);
  for (const char* const verb : {"watch", "stop", "resume", "delete", "logs"}) {
    INFO(verb);
    CHECK_THAT(Printed({verb, "--param-server", "hive:1"}).text, Catch::Contains("ID is required"));
    CHECK(Printed({verb, "pole-1"}).status == 2);
  }
}

TEST_CASE("The verbs that ask replay servers take an experiment", "[unit]") {
  const Command why = Parse({"why", "--experiment", "pole-1", "--param-server", "hive:1"});
  REQUIRE(std::holds_alternative<WhyFlags>(why));
  CHECK(std::get<WhyFlags>(why).target.experiment_id == "pole-1");
  const Command status = Parse({"status", "--experiment", "pole-1", "--param-server", "hive:1"});
  REQUIRE(std::holds_alternative<StatusFlags>(status));
  CHECK(std::get<StatusFlags>(status).target.experiment_id == "pole-1");
  CHECK(Printed({"status", "pole-1", "--experiment", "pole-2", "--param-server", "hive:1"}).status == 2);
}

TEST_CASE("status takes an address from its flag or from the environment variable", "[unit]") {
  setenv("WAGGLE_PARAM_SERVER", "hive:1", 1);
  const Command from_environment = Parse({"status", "--json"});
  const Command from_flag = Parse({"status", "--param-server", "hive:2"});
  unsetenv("WAGGLE_PARAM_SERVER");
  REQUIRE(std::holds_alternative<StatusFlags>(from_environment));
  CHECK(std::get<StatusFlags>(from_environment).target.param_server == "hive:1");
  CHECK(std::get<StatusFlags>(from_environment).json);
  REQUIRE(std::holds_alternative<StatusFlags>(from_flag));
  CHECK(std::get<StatusFlags>(from_flag).target.param_server == "hive:2");
  CHECK_FALSE(std::get<StatusFlags>(from_flag).json);
}

TEST_CASE("status takes replay servers instead, one by one or separated by commas", "[unit]") {
  setenv("WAGGLE_PARAM_SERVER", "hive:1", 1);
  const Command command = Parse({"status", "--replay-server", "a:1,b:2", "--replay-server", "[::1]:3", "--json"});
  unsetenv("WAGGLE_PARAM_SERVER");
  REQUIRE(std::holds_alternative<StatusFlags>(command));
  CHECK(std::get<StatusFlags>(command).target.replay_servers == std::vector<std::string>{"a:1", "b:2", "[::1]:3"});
  CHECK(std::get<StatusFlags>(command).json);
  CHECK(Printed({"status", "--replay-server", "a:1,nowhere"}).status == 2);
  CHECK(Printed({"status", "--replay-server", ","}).status == 2);
}

TEST_CASE("health takes an address, and a service of the server", "[unit]") {
  const Command whole = Parse({"health", "a:1"});
  REQUIRE(std::holds_alternative<HealthFlags>(whole));
  CHECK(std::get<HealthFlags>(whole).address == "a:1");
  CHECK(std::get<HealthFlags>(whole).service.empty());
  const Command one = Parse({"health", "a:1", "--service", "waggle.v1.ReplayService"});
  REQUIRE(std::holds_alternative<HealthFlags>(one));
  CHECK(std::get<HealthFlags>(one).service == "waggle.v1.ReplayService");
  CHECK(Printed({"health", "nowhere"}).status == 2);
}

TEST_CASE("why takes a table, and replay servers or a hub that knows them", "[unit]") {
  unsetenv("WAGGLE_PARAM_SERVER");
  const Command named = Parse({"why", "t", "--replay-server", "a:1", "--replay-server", "b:2", "--json"});
  REQUIRE(std::holds_alternative<WhyFlags>(named));
  CHECK(std::get<WhyFlags>(named).table == "t");
  CHECK(std::get<WhyFlags>(named).target.replay_servers == std::vector<std::string>{"a:1", "b:2"});
  CHECK(std::get<WhyFlags>(named).json);
  setenv("WAGGLE_PARAM_SERVER", "hive:1", 1);
  const Command all = Parse({"why"});
  unsetenv("WAGGLE_PARAM_SERVER");
  REQUIRE(std::holds_alternative<WhyFlags>(all));
  CHECK(std::get<WhyFlags>(all).target.param_server == "hive:1");
  CHECK(Printed({"why"}).text == "waggle why: --param-server or --replay-server is required; see waggle why --help\n");
  CHECK(Printed({"why", "--replay-server", "nowhere"}).status == 2);
}

TEST_CASE("inspect takes a table and a choice of its items", "[unit]") {
  const Command command = Parse({"inspect", "t", "--replay-server", "a:1", "--order", "highest", "--limit", "7",
                                 "--key", "3", "--key", "18446744073709551615"});
  REQUIRE(std::holds_alternative<InspectFlags>(command));
  const TableQuestion& question = std::get<InspectFlags>(command).question;
  CHECK(question.table == "t");
  CHECK(question.order == "highest");
  CHECK(question.limit == 7);
  CHECK(question.keys == std::vector<uint64_t>{3, ~uint64_t{0}});
  CHECK_FALSE(question.item.has_value());
  const Command one = Parse({"inspect", "t", "--replay-server", "a:1", "--item", "5", "--json"});
  REQUIRE(std::holds_alternative<InspectFlags>(one));
  CHECK(std::get<InspectFlags>(one).question.item == 5);
  CHECK(std::get<InspectFlags>(one).question.in_full);
  CHECK(Printed({"inspect", "--replay-server", "a:1"}).status == 2);
  CHECK(Printed({"inspect", "t", "--replay-server", "a:1", "--order", "best"}).status == 2);
  CHECK(Printed({"inspect", "t", "--replay-server", "a:1", "--limit", "0"}).status == 2);
  CHECK(Printed({"inspect", "t", "--replay-server", "a:1", "--item", "-1"}).status == 2);
}

TEST_CASE("reconfigure takes a table and new values", "[unit]") {
  const Command command = Parse(
      {"reconfigure", "t", "max_items=5", "rate_limiter.min_difference=-3", "--replay-server", "a:1", "--dry-run"});
  REQUIRE(std::holds_alternative<ReconfigureFlags>(command));
  const ReconfigureFlags& flags = std::get<ReconfigureFlags>(command);
  CHECK(flags.table == "t");
  CHECK(flags.changes == Overrides{{"max_items", "5"}, {"rate_limiter.min_difference", "-3"}});
  CHECK(flags.dry_run);
  CHECK(Printed({"reconfigure", "t", "--replay-server", "a:1"}).text ==
        "waggle reconfigure: KEY=VALUE is required; see waggle reconfigure --help\n");
  CHECK(Printed({"reconfigure", "t", "max_items", "--replay-server", "a:1"}).status == 2);
}

TEST_CASE("An argument after the value of a repeatable flag is the verb's own", "[unit]") {
  const std::vector<std::string> servers = {"a:1", "b:2"};
  const Command why = Parse({"why", "--replay-server", "a:1,b:2", "t"});
  REQUIRE(std::holds_alternative<WhyFlags>(why));
  CHECK(std::get<WhyFlags>(why).table == "t");
  CHECK(std::get<WhyFlags>(why).target.replay_servers == servers);
  const Command inspect = Parse({"inspect", "--key", "5", "--replay-server", "a:1", "--replay-server", "b:2", "t"});
  REQUIRE(std::holds_alternative<InspectFlags>(inspect));
  CHECK(std::get<InspectFlags>(inspect).question.table == "t");
  CHECK(std::get<InspectFlags>(inspect).question.keys == std::vector<uint64_t>{5});
  CHECK(std::get<InspectFlags>(inspect).target.replay_servers == servers);
  const Command reconfigure = Parse({"reconfigure", "--replay-server", "a:1,b:2", "t", "max_items=5", "max_bytes=6"});
  REQUIRE(std::holds_alternative<ReconfigureFlags>(reconfigure));
  CHECK(std::get<ReconfigureFlags>(reconfigure).table == "t");
  CHECK(std::get<ReconfigureFlags>(reconfigure).changes == Overrides{{"max_items", "5"}, {"max_bytes", "6"}});
  const Command exported = Parse({"replay", "export", "--replay-server", "a:1", "t", "f"});
  REQUIRE(std::holds_alternative<ExportFlags>(exported));
  CHECK(std::get<ExportFlags>(exported).table == "t");
  CHECK(std::get<ExportFlags>(exported).file == "f");
  const Command imported = Parse({"replay", "import", "--replay-server", "a:1", "f"});
  REQUIRE(std::holds_alternative<ImportFlags>(imported));
  CHECK(std::get<ImportFlags>(imported).file == "f");
  const Command check = Parse({"check", "--set", "learner.batch_size=7", "experiment.yaml"});
  REQUIRE(std::holds_alternative<CheckFlags>(check));
  CHECK(std::get<CheckFlags>(check).file == "experiment.yaml");
}

TEST_CASE("Help and version go to the standard output, for every verb", "[unit]") {
  for (const std::vector<const char*>& arguments : std::vector<std::vector<const char*>>{{"--help"},
                                                                                         {"-h"},
                                                                                         {"help"},
                                                                                         {"--version"},
                                                                                         {"run", "--help"},
                                                                                         {"status", "--help"},
                                                                                         {"health", "--help"},
                                                                                         {"check", "--help"},
                                                                                         {"why", "--help"},
                                                                                         {"inspect", "--help"},
                                                                                         {"reconfigure", "--help"},
                                                                                         {"evaluate", "--help"},
                                                                                         {"plot", "--help"},
                                                                                         {"submit", "--help"},
                                                                                         {"list", "--help"},
                                                                                         {"watch", "--help"},
                                                                                         {"stop", "--help"},
                                                                                         {"resume", "--help"},
                                                                                         {"delete", "--help"},
                                                                                         {"logs", "--help"}}) {
    const PrintAndExit printed = Printed(arguments);
    CHECK(printed.status == 0);
    CHECK_FALSE(printed.text.empty());
  }
  CHECK(Printed({"--version"}).text.find("waggle ") == 0);
  CHECK(Printed({"run", "--help"}).text.find("--output-dir DIR") != std::string::npos);
}

TEST_CASE("help before a verb equals --help after it", "[unit]") {
  for (const char* const verb : {"run", "status", "health", "check", "why", "inspect", "reconfigure", "replay"}) {
    INFO(verb);
    CHECK(Printed({"help", verb}).text == Printed({verb, "--help"}).text);
    CHECK(Printed({"help", verb}).status == 0);
  }
  CHECK(Printed({"help", "replay", "export"}).text == Printed({"replay", "export", "--help"}).text);
  CHECK(Printed({"help", "help"}).text == Printed({"--help"}).text);
  CHECK(Printed({"help", "rnu"}).text.find("waggle: there is no verb \"rnu\"; did you mean \"run\"?") == 0);
}

TEST_CASE("Whole numbers may have an exponent", "[unit]") {
  const Command command = Parse({"run", "x.yaml", "--actors", "1e1", "--seed=9007199254740993"});
  REQUIRE(std::holds_alternative<RunFlags>(command));
  CHECK(std::get<RunFlags>(command).overrides ==
        Overrides{{"actor.processes", "10"}, {"experiment.seed", "9007199254740993"}});
}

TEST_CASE("Wrong usage prints one helpful line and exits with 2", "[unit]") {
  struct Case {
    std::vector<const char*> arguments;
    std::string text;
  };
  unsetenv("WAGGLE_PARAM_SERVER");
  const std::vector<Case> cases = {
      {{},
       "waggle: a verb is missing; wanted one of run, check, evaluate, record, play, plot, serve-environment, "
       "submit, list, status, watch, stop, resume, delete, logs, health, why, inspect, reconfigure, replay; see waggle "
       "--help\n"},
      {{"rnu"},
       "waggle: there is no verb \"rnu\"; did you mean \"run\"?; wanted one of run, check, evaluate, record, play, "
       "plot, "
       "serve-environment, submit, "
       "list, status, watch, stop, resume, delete, logs, health, why, inspect, reconfigure, replay; see waggle "
       "--help\n"},
      {{"evaluate"}, "waggle evaluate: PATH is required; see waggle evaluate --help\n"},
      {{"health"}, "waggle health: HOST:PORT is required; see waggle health --help\n"},
      {{"plot"}, "waggle plot: RUN is required; see waggle plot --help\n"},
      {{"run"}, "waggle run: FILE is required; see waggle run --help\n"},
      {{"run", "a", "b"}, "waggle run: one argument too many: b; see waggle run --help\n"},
      {{"run", "a", "--actor", "3"},
       "waggle run: there is no flag --actor; did you mean \"--actors\"?; see waggle run --help\n"},
      {{"check", "a", "--set", "b"},
       "waggle check: --set: got \"b\"; wanted KEY=VALUE, such as learner.batch_size=256; see waggle check --help\n"},
      {{"status"}, "waggle status: --param-server or --replay-server is required; see waggle status --help\n"},
  };
  for (const Case& one : cases) {
    const PrintAndExit printed = Printed(one.arguments);
    CHECK(printed.status == 2);
    CHECK(printed.text == one.text);
  }
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"run", "a", "--actors", "many"},
                                             {"run", "a", "--seed"},
                                             {"run", "a", "--set"},
                                             {"status", "--param-server", "nowhere"}}) {
    CHECK(Printed(arguments).status == 2);
  }
}

TEST_CASE("The error of a wrong flag value says what it got and what it wanted", "[unit]") {
  unsetenv("WAGGLE_PARAM_SERVER");
  const std::string address = "is not an address: wanted HOST:PORT, such as 127.0.0.1:7000";
  const std::string positive = "wanted a whole number from 1 to 1024";
  const std::string learners = "wanted a whole number from 1 to 64";
  const std::string natural = "wanted a whole number from 0 to 9223372036854775807";
  const std::string limit = "wanted a whole number from 1 to 1000000";
  const std::string episodes = "wanted a whole number from 1 to 10000000";
  const std::string idle = "wanted a whole number from 1 to 1000000000";
  const std::string key = "wanted an item's key, a number >= 0";
  const std::string pair = "wanted KEY=VALUE";
  const std::string huge = "99999999999999999999";
  struct Case {
    std::vector<std::string> command;
    std::string flag;
    std::vector<std::pair<std::string, std::string>> values;
  };
  const std::vector<std::string> run = {"run", "x.yaml"};
  const std::vector<std::string> inspect = {"inspect", "t", "--replay-server", "a:1"};
  const Case cases[] = {
      {run,
       "--actors",
       {{"", positive}, {"many", positive}, {"-1", positive}, {"0", positive}, {"5000", positive}, {huge, positive}}},
      {run,
       "--replay-servers",
       {{"", positive}, {"2.5", positive}, {"-1", positive}, {"0", positive}, {"1025", positive}, {huge, positive}}},
      {run, "--learners", {{"", learners}, {"two", learners}, {"0", learners}, {"65", learners}, {huge, learners}}},
      {run, "--seed", {{"", natural}, {"lucky", natural}, {"-1", natural}, {huge, natural}}},
      {{"evaluate", "x"},
       "--episodes",
       {{"", episodes}, {"all", episodes}, {"-1", episodes}, {"0", episodes}, {"10000001", episodes}}},
      {{"evaluate", "x"}, "--seed", {{"", natural}, {"lucky", natural}, {"-1", natural}, {huge, natural}}},
      {{"plot", "x"}, "--out", {{"", "wanted a file"}}},
      {run, "--output-dir", {{"", "wanted a folder"}}},
      {{"submit", "x.yaml", "--param-server", "a:1"},
       "--priority",
       {{"", "wanted a whole number from -1000000 to 1000000"}, {"high", "wanted a whole number"}}},
      {run, "--set", {{"", pair}, {"a", pair}, {"=1", pair}}},
      {{"check", "x.yaml"}, "--set", {{"", pair}, {"a", pair}}},
      {{"status"}, "--param-server", {{"", address}, {"a", address}, {"a:0", address}, {"a:65536", address}}},
      {{"status"}, "--replay-server", {{"", address}, {"a", address}, {"a:-1", address}}},
      {inspect, "--order", {{"", "wanted one of key, newest, oldest, highest, lowest"}, {"best", "wanted one of key"}}},
      {inspect,
       "--limit",
       {{"", limit}, {"all", limit}, {"-1", limit}, {"0", limit}, {"1000001", limit}, {huge, limit}}},
      {inspect, "--key", {{"", key}, {"a", key}, {"-1", key}, {huge, key}}},
      {inspect, "--item", {{"", key}, {"a", key}, {"-1", key}, {huge, key}}},
      {{"replay", "import", "f", "--replay-server", "a:1"},
       "--idle-timeout",
       {{"", idle}, {"long", idle}, {"-1", idle}, {"0", idle}, {"1000000001", idle}, {huge, idle}}},
  };
  for (const Case& one : cases) {
    for (const auto& [value, says] : one.values) {
      for (const bool joined : {false, true}) {
        std::vector<std::string> words = one.command;
        words.push_back(joined ? one.flag + "=" + value : one.flag);
        if (!joined) {
          words.push_back(value);
        }
        std::vector<const char*> arguments;
        for (const std::string& word : words) {
          arguments.push_back(word.c_str());
        }
        INFO(one.command[0] << " " << one.flag << (joined ? "=" : " ") << "\"" << value << "\"");
        const PrintAndExit printed = Printed(arguments);
        CHECK(printed.status == 2);
        if (joined && value.empty()) {  // "--flag=" is a flag without a value.
          CHECK_THAT(printed.text, Catch::Contains(": " + one.flag + ": 1 required "));
          continue;
        }
        CHECK_THAT(printed.text, Catch::Contains(": " + one.flag + ": ") && Catch::Contains("\"" + value + "\"") &&
                                     Catch::Contains(says) && Catch::EndsWith(" --help\n"));
        CHECK(std::count(printed.text.begin(), printed.text.end(), '\n') == 1);
      }
    }
  }
}

}  // namespace
}  // namespace waggle
