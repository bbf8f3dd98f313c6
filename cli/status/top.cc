#include "cli/status/top.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/human_text.h"
#include "cli/status/pool_snapshot.h"
#include "cli/status/top_screen.h"
#include "common/base/stopwatch.h"

namespace waggle {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr int64_t kMostExperiments = 500;
constexpr size_t kPlainWidth = 200;
constexpr size_t kPlainHeight = 1'000;
// How often the keys and a stop are looked at.
constexpr absl::Duration kKeyPeriod = absl::Milliseconds(100);
// The terminal's other screen without a cursor, and back.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";

bool Write(int output, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(output, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) {
      return errno == EAGAIN;  // A terminal without room gets the next screen.
    }
    done += written < 0 ? 0 : static_cast<size_t>(written);
  }
  return true;
}

// A terminal that shows this program's screen and passes keys at once, as long as this exists.
class Terminal {
 public:
  Terminal(int input, int output) : input_(input), output_(output) {
    termios now = {};
    if (isatty(input) == 1 && tcgetattr(input, &now) == 0) {
      before_ = now;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      now.c_cc[VMIN] = 0;
      now.c_cc[VTIME] = 0;
      tcsetattr(input, TCSANOW, &now);
    }
    Write(output_, kEnter);
  }
  ~Terminal() {
    Write(output_, kLeave);
    if (before_.has_value()) {
      tcsetattr(input_, TCSANOW, &*before_);
    }
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // A key, or 0 after `patience`.
  char AwaitKey(absl::Duration patience) const {
    pollfd keys = {before_.has_value() ? input_ : -1, POLLIN, 0};
    char key = 0;
    const bool pressed =
        poll(&keys, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) == 1 && read(input_, &key, 1) == 1;
    return pressed ? key : '\0';
  }

  // Draws over the last screen, cut to the terminal's size.
  bool Draw(const std::vector<std::string>& lines) const {
    return Write(output_, absl::StrCat("\x1b[H", absl::StrJoin(lines, "\x1b[K\r\n"), "\x1b[K\x1b[J"));
  }

  winsize Size() const {
    winsize size = {};
    if (ioctl(output_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
      size.ws_col = 80;
      size.ws_row = 24;
    }
    return size;
  }

 private:
  const int input_;
  const int output_;
  std::optional<termios> before_;
};

}  // namespace

absl::Status RunTop(const TopFlags& flags, const StopToken& stop, int input, int output) {
  PoolSnapshotClient client(flags.param_server);
  absl::StatusOr<PoolSnapshot> snapshot = client.Fetch(kMostExperiments, {}, kTimeout, stop);
  if (!snapshot.ok()) {
    return snapshot.status();
  }
  if (isatty(output) != 1) {
    const std::vector<std::string> lines =
        TopScreen(*snapshot, TopOrder::kWaiting, absl::Now(), kPlainWidth, kPlainHeight);
    return Write(output, absl::StrCat(absl::StrJoin(lines, "\n"), "\n"))
               ? absl::OkStatus()
               : absl::DataLossError("the output cannot be written");
  }
  const Terminal terminal(input, output);
  TopOrder order = TopOrder::kWaiting;
  std::string problem;
  while (true) {
    const winsize size = terminal.Size();
    // The last column stays free, as some terminals wrap when it is written.
    const size_t width = std::max<size_t>(1, size.ws_col - size_t{1});
    std::vector<std::string> lines = TopScreen(*snapshot, order, absl::Now(), width, size.ws_row);
    if (!problem.empty()) {
      lines.front() = Printable(problem, width);
    } else if (lines.size() > 1) {
      lines[1] = Printable("q: quit; workers by w: waiting, r: rate, m: memory", width);
    }
    if (!terminal.Draw(lines)) {
      return absl::DataLossError("the output cannot be written");
    }
    const Stopwatch shown;
    char key = 0;
    while (key == 0 && shown.Elapsed() < absl::Seconds(flags.period_seconds)) {
      if (stop.StopRequested()) {
        return absl::OkStatus();
      }
      key = terminal.AwaitKey(kKeyPeriod);
    }
    if (key == 'q' || key == 'Q') {
      return absl::OkStatus();
    }
    if (key == 'w' || key == 'r' || key == 'm') {
      order = static_cast<TopOrder>(key);
      continue;
    }
    absl::StatusOr<PoolSnapshot> next = client.Fetch(kMostExperiments, {}, kTimeout, stop);
    problem = next.ok() ? "" : std::string(next.status().message());
    if (next.ok()) {
      snapshot = std::move(next);
    }
  }
}

}  // namespace waggle
