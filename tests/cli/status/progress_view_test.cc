#include "cli/status/progress_view.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::PushingSnapshot;
using ::waggle::testing::SampleSnapshot;

ProgressContext Context(double seconds = 12.4) {
  return {"pole", "runs/pole-1", 475.0, absl::Seconds(seconds), ""};
}

TEST_CASE("The block has a line for each stage", "[unit]") {
  const std::vector<std::string> block = RenderBlock(GatherFacts(SampleSnapshot()), Context(), 100, false);
  CHECK(block ==
        std::vector<std::string>{
            "pole: running, 10.0 s, runs/pole-1",
            "  actors      16.2k steps/s 198k steps    2 running, return 250.0",
            "  replay      16.2k in/s    259k out/s    table 40000 of 50000 (80%)",
            "  learner     2.00k steps/s 12.3k steps   3000 items learned from, 40 items too old",
            "  policy lag  mean 2.0 inserted, 30.5 sampled, 31.0 learned from; max 80.0; 17-32: 75%, 65-128: 25%",
            "  evaluation  mean return 412.5    best 412.5    target 475.0",
            "  waiting     actors 10%, learner 3% of their time",
        });
}

TEST_CASE("The policy lags of many items are shown", "[unit]") {
  RunFacts facts = GatherFacts(SampleSnapshot());
  facts.policy_lags = {};
  facts.policy_lags[0] = 1;
  facts.policy_lags[2] = 10;
  facts.policy_lags[3] = 989;
  CHECK_THAT(RenderLag(facts), Catch::EndsWith("max 80.0; 2: 1%, 3-4: 99%"));
}

TEST_CASE("The block shows a run that has not begun", "[unit]") {
  ProgressContext context = Context(0.3);
  context.target_return.reset();
  const std::vector<std::string> block = RenderBlock(RunFacts(), context, 100, false);
  CHECK(block[0] == "pole: no experiment, 0.0 s, runs/pole-1");
  CHECK(block[1] == "  actors      - steps/s     0 steps       0 running, return -");
  CHECK(block[2] == "  replay      - in/s        - out/s       no table yet");
  CHECK(block[4] == "  policy lag  mean - inserted, - sampled, - learned from; max -");
  CHECK(block[5] == "  evaluation  mean return -        best -       ");
  CHECK(block[6] == "  waiting     actors -, learner - of their time");
}

TEST_CASE("The fill of tables is not shown if a server with tables is not reached", "[unit]") {
  RunFacts facts = GatherFacts(SampleSnapshot());
  facts.replay_servers_unheard = 1;
  CHECK_THAT(RenderBlock(facts, Context(), 200, false)[2], Catch::EndsWith("not reached from here"));
  CHECK_THAT(RenderLine(facts, Context()), Catch::Contains("  table -  "));
}

TEST_CASE("Lines are cut to the terminal's width and have only printable characters", "[unit]") {
  RunFacts facts = GatherFacts(SampleSnapshot());
  facts.cause = {"evil \x1b[2J\n bytes"};
  for (const size_t width : {1u, 2u, 10u, 40u, 80u, 1000u}) {
    for (const std::string& line : RenderBlock(facts, Context(), width, false)) {
      CHECK(line.size() <= width);
      for (const char c : line) {
        CHECK((c >= ' ' && c <= '~'));
      }
    }
  }
  CHECK(RenderBlock(facts, Context(), 20, false)[0] == "pole: running, 10...");
  CHECK(RenderBlock(facts, Context(), 100, false)[6].find("evil ?[2J? bytes") != std::string::npos);
}

TEST_CASE("The cause of a wait is shown in the block and on the line until the run is over", "[unit]") {
  ClusterSnapshot snapshot = SampleSnapshot();
  snapshot.info.set_reason("waits for 1 learner");
  RunFacts facts = GatherFacts(snapshot);
  const std::string waiting = "actors 10%, learner 3% of their time; waits for 1 learner";
  CHECK(RenderBlock(facts, Context(), 100, false)[6] == "  waiting     " + waiting);
  CHECK_THAT(RenderLine(facts, Context()), Catch::EndsWith("  waiting: " + waiting));
  facts.state = RunState::kLimit;  // The cause is then why the run has ended.
  CHECK_THAT(RenderLine(facts, Context()), Catch::EndsWith("learner 3% of their time"));
}

TEST_CASE("Colours are used only on request", "[unit]") {
  const RunFacts facts = GatherFacts(SampleSnapshot());
  CHECK(RenderBlock(facts, Context(), 100, true)[0].find('\x1b') == 0);
  for (const std::string& line : RenderBlock(facts, Context(), 100, false)) {
    CHECK(line.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("The plain line has the same facts", "[unit]") {
  CHECK(RenderLine(GatherFacts(SampleSnapshot()), Context()) ==
        "  10.0 s  198k env steps (16.2k/s)  items 16.2k/s in 259k/s out  12.3k learner steps (2.00k/s)  table 40000  "
        "return 250.0  evaluation 412.5 of 475.0  lag 31.0  waiting: actors 10%, learner 3% of their time");
}

TEST_CASE("A run whose actors push gradients shows these, and no tables and lags", "[unit]") {
  const RunFacts facts = GatherFacts(PushingSnapshot());
  CHECK(RenderBlock(facts, Context(), 160, false) ==
        std::vector<std::string>{
            "pole: running, 10.0 s, runs/pole-1",
            "  actors      16.2k steps/s 198k steps    2 running, return -",
            "  gradients   250 pushed/s  1.20k pushed  1187 applied, 8 refused (future 2, stale 6), 5 not answered, "
            "40 undone by a restart, 3 sums split",
            "  learner     120 steps/s   12.3k steps  ",
            "  evaluation  mean return 412.5    best 412.5    target 475.0",
            "  waiting     actors 10% of their time",
        });
  CHECK(RenderLine(facts, Context()) ==
        "  10.0 s  198k env steps (16.2k/s)  gradients 1.20k pushed (250/s) 1.19k applied 8 refused  12.3k learner "
        "steps (120/s)  return -  evaluation 412.5 of 475.0  waiting: actors 10% of their time");
}

TEST_CASE("A run whose learners push gradients shows these after tables and lags", "[unit]") {
  RunFacts facts = GatherFacts(PushingSnapshot());
  const std::vector<std::string> by_actors = RenderBlock(facts, Context(), 160, false);
  facts.gradients->by_learners = true;
  const std::vector<std::string> lines = RenderBlock(facts, Context(), 160, false);
  REQUIRE(lines.size() == 8);
  CHECK_THAT(lines[2], Catch::StartsWith("  replay "));
  CHECK_THAT(lines[4], Catch::StartsWith("  policy lag "));
  CHECK(lines[5] == by_actors[2]);
  CHECK_THAT(lines[7], Catch::Contains("learner"));
}

TEST_CASE("An evaluation is shown with its target", "[unit]") {
  const v1::Evaluation evaluation = SampleSnapshot().overview.evaluations(0);
  CHECK(
      RenderEvaluation(evaluation, 475) ==
      "evaluation: mean return 412.5 of 475.0 wanted over 20 episodes (210.0 to 500.0), weights of learner step 5200");
  CHECK(RenderEvaluation(evaluation, std::nullopt) ==
        "evaluation: mean return 412.5 over 20 episodes (210.0 to 500.0), weights of learner step 5200");
}

// A pseudoterminal: a printer's output, and the terminal's size.
class Terminal {
 public:
  Terminal() : own_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE((own_ >= 0 && grantpt(own_) == 0 && unlockpt(own_) == 0));
    printers_ = open(ptsname(own_), O_RDWR | O_NOCTTY);
    REQUIRE(printers_ >= 0);
    termios plain = {};
    REQUIRE(tcgetattr(printers_, &plain) == 0);
    cfmakeraw(&plain);
    REQUIRE(tcsetattr(printers_, TCSANOW, &plain) == 0);
  }
  ~Terminal() {
    close(printers_);
    close(own_);
  }
  int writer() const { return printers_; }
  void Resize(int columns, int rows) {
    winsize size = {};
    size.ws_col = static_cast<uint16_t>(columns);
    size.ws_row = static_cast<uint16_t>(rows);
    REQUIRE(ioctl(own_, TIOCSWINSZ, &size) == 0);
  }
  std::string Read() const {
    char buffer[8192];
    const ssize_t got = read(own_, buffer, sizeof(buffer));
    return std::string(buffer, got > 0 ? static_cast<size_t>(got) : 0);
  }

 private:
  const int own_;
  int printers_ = -1;
};

std::string BlockText(const RunFacts& facts, const ProgressContext& context, size_t width, size_t lines = 7) {
  std::vector<std::string> block = RenderBlock(facts, context, width, false);
  std::string text;
  for (size_t i = 0; i < lines; ++i) {
    text += block.at(i) + "\n";
  }
  return text;
}

TEST_CASE("On a pipe a line comes every two seconds and for each event", "[unit]") {
  Terminal pipe;
  ProgressPrinter printer(pipe.writer(), /*terminal=*/false, true);
  const RunFacts facts = GatherFacts(SampleSnapshot());
  printer.Update(facts, Context(0.5));
  CHECK(pipe.Read() == RenderLine(facts, Context(0.5)) + "\n");
  printer.Update(facts, Context(1.0));
  printer.Event("hello");
  CHECK(pipe.Read() == "hello\n");
  printer.Update(facts, Context(2.6));
  CHECK(pipe.Read() == RenderLine(facts, Context(2.6)) + "\n");
  printer.Redraw();
  printer.Last(facts, Context(2.7));
  CHECK(pipe.Read() == RenderLine(facts, Context(2.7)) + "\n");
}

TEST_CASE("On a terminal the block is redrawn in place, and events stay above it", "[unit]") {
  Terminal terminal;
  terminal.Resize(101, 24);
  ProgressPrinter printer(terminal.writer(), true, false);
  const RunFacts facts = GatherFacts(SampleSnapshot());
  const std::string block = BlockText(facts, Context(), 100);
  printer.Event("fir\x1b[2Jst\n");
  CHECK(terminal.Read() == "fir?[2Jst?\n");
  printer.Update(facts, Context());
  CHECK(terminal.Read() == block);
  printer.Update(facts, Context());
  CHECK(terminal.Read() == "\x1b[7A\r\x1b[J" + block);
  printer.Event("second");
  CHECK(terminal.Read() == "\x1b[7A\r\x1b[Jsecond\n" + block);
}

TEST_CASE("When a terminal changes its size the whole block is redrawn in the new width", "[unit]") {
  Terminal terminal;
  terminal.Resize(101, 24);
  ProgressPrinter printer(terminal.writer(), true, false);
  const RunFacts facts = GatherFacts(SampleSnapshot());
  printer.Update(facts, Context());
  CHECK(terminal.Read() == BlockText(facts, Context(), 100));
  terminal.Resize(31, 24);
  printer.Redraw();
  // The seven lines of 34 to 100 characters had become 2, 3, 3, 3, 4, 2 and 2 rows.
  CHECK(terminal.Read() == "\x1b[19A\r\x1b[J" + BlockText(facts, Context(), 30));
  terminal.Resize(101, 24);
  printer.Event("hello");
  CHECK(terminal.Read() == "\x1b[7A\r\x1b[Jhello\n" + BlockText(facts, Context(), 100));
}

TEST_CASE("A low terminal gets only as many lines as can be erased", "[unit]") {
  Terminal terminal;
  terminal.Resize(101, 4);
  ProgressPrinter printer(terminal.writer(), true, false);
  const RunFacts facts = GatherFacts(SampleSnapshot());
  printer.Update(facts, Context());
  CHECK(terminal.Read() == BlockText(facts, Context(), 100, 3));
  printer.Last(facts, Context());
  CHECK(terminal.Read() == "\x1b[3A\r\x1b[J" + BlockText(facts, Context(), 100, 3));
}

TEST_CASE("No block shows a running run once its outcome is decided", "[unit]") {
  Terminal terminal;
  ProgressPrinter printer(terminal.writer(), true, false);
  const RunFacts facts = GatherFacts(SampleSnapshot());
  printer.SetOutcome("interrupted");
  printer.Update(facts, Context());
  CHECK(terminal.Read().find("pole: running") == 0);
  printer.SetOutcome("interrupted");
  printer.Event("stopping");
  CHECK(terminal.Read().find("stopping\npole: interrupted, 10.0 s") != std::string::npos);
}

}  // namespace
}  // namespace waggle
