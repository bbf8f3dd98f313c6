#include "common/base/process/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr int kBackgroundNice = 10;
constexpr int kFirstGiven = 3;
// Above a child's descriptors, so that moving one descriptor closes no other.
constexpr int kAside = 64;

// Everything that the child needs between fork and exec. No memory may be allocated there: another thread may have held
// the allocator's lock.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  int log = -1;                  // -1: the parent's.
  std::vector<int> descriptors;  // Moved in place.
  int errors = -1;               // The child writes its errno here if it cannot go on.
  pid_t parent = 0;
  bool in_background = false;
};

[[noreturn]] void GiveUp(const Prepared& prepared) {
  const int error = errno;
  const ssize_t ignored = write(prepared.errors, &error, sizeof(error));
  static_cast<void>(ignored);
  _exit(127);
}

void GiveDescriptors(Prepared* prepared) {
  // Moves the pipe for errors too.
  prepared->errors = fcntl(prepared->errors, F_DUPFD_CLOEXEC, kAside);
  for (int& descriptor : prepared->descriptors) {
    descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, kAside);
    if (descriptor < 0) {
      GiveUp(*prepared);
    }
  }
  int given = kFirstGiven;
  for (const int descriptor : prepared->descriptors) {
    if (dup2(descriptor, given++) < 0) {
      GiveUp(*prepared);
    }
  }
}

[[noreturn]] void RunChild(Prepared& prepared) {
  // The parent may have died before the kernel had this setting.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != prepared.parent) {
    GiveUp(prepared);
  }
  setpgid(0, 0);
  if (prepared.in_background) {
    setpriority(PRIO_PROCESS, 0, kBackgroundNice);
  }
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null_input = open("/dev/null", O_RDONLY);
  if (null_input < 0 || dup2(null_input, STDIN_FILENO) < 0) {
    GiveUp(prepared);
  }
  if (prepared.log >= 0 && (dup2(prepared.log, STDOUT_FILENO) < 0 || dup2(prepared.log, STDERR_FILENO) < 0)) {
    GiveUp(prepared);
  }
  GiveDescriptors(&prepared);
  syscall(SYS_close_range, kFirstGiven + prepared.descriptors.size(), ~0U, CLOSE_RANGE_CLOEXEC);
  execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  GiveUp(prepared);
}

// Forks and waits until the child runs the new program. Returns the child's process id.
absl::StatusOr<pid_t> ForkAndExec(Prepared* prepared, const std::string& executable) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe");
  }
  prepared->errors = pipe_ends[1];
  const pid_t pid = fork();
  if (pid == 0) {
    RunChild(*prepared);
  }
  const int fork_error = errno;
  close(pipe_ends[1]);
  int child_error = 0;
  ssize_t got = 0;
  if (pid > 0) {
    do {
      got = read(pipe_ends[0], &child_error, sizeof(child_error));
    } while (got < 0 && errno == EINTR);
  }
  close(pipe_ends[0]);
  if (pid < 0) {
    return absl::ErrnoToStatus(fork_error, absl::StrCat("cannot start ", executable));
  }
  if (got > 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return absl::ErrnoToStatus(child_error, absl::StrCat("cannot start ", executable));
  }
  return pid;
}

}  // namespace

std::string ChildExit::DebugString() const {
  if (signal != 0) {
    return absl::StrCat("was killed by signal ", signal, " (", strsignal(signal), ")");
  }
  return absl::StrCat("exited with status ", code);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Spawn(const ChildOptions& options) {
  std::vector<std::string> command = options.command;
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  for (const auto& [name, value] : options.default_environment) {
    if (getenv(name.c_str()) == nullptr) {
      environment.push_back(absl::StrCat(name, "=", value));
    }
  }
  Prepared prepared;
  for (std::string& argument : command) {
    prepared.arguments.push_back(argument.data());
  }
  prepared.arguments.push_back(nullptr);
  for (std::string& variable : environment) {
    prepared.environment.push_back(variable.data());
  }
  prepared.environment.push_back(nullptr);
  prepared.parent = getpid();
  prepared.in_background = options.in_background;
  prepared.descriptors = options.descriptors;
  File log;
  if (!options.log_path.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(log, File::Open(options.log_path, O_WRONLY | O_CREAT | O_APPEND));
    prepared.log = log.descriptor();
  }
  const absl::StatusOr<pid_t> pid = ForkAndExec(&prepared, command[0]);
  if (!pid.ok()) {
    return pid.status();
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(*pid));
}

ChildProcess::~ChildProcess() {
  if (Poll().has_value()) {
    return;
  }
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::Signal(int signal) {
  if (!Poll().has_value()) {
    kill(pid_, signal);
  }
}

const std::optional<ChildExit>& ChildProcess::Poll() {
  int status = 0;
  rusage usage = {};
  if (!exit_.has_value() && wait4(pid_, &status, WNOHANG, &usage) == pid_) {
    ChildExit exit;
    exit.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit.peak_rss_mebibytes = static_cast<double>(usage.ru_maxrss) / 1024;
    exit_ = exit;
  }
  return exit_;
}

}  // namespace waggle
