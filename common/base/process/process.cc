#include "common/base/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/out_of_memory.h"
#include "common/base/process/allocator.h"
#include "common/base/status_macros.h"
#include "common/base/threads/thread.h"
#include "common/net/grpc_log.h"

namespace waggle {
namespace {

// The terminal's end is one too, unless it is ignored (nohup): blocking would undo that.
std::vector<int> StopSignals() {
  std::vector<int> signals = {SIGINT, SIGTERM};
  struct sigaction present = {};
  if (sigaction(SIGHUP, nullptr, &present) != 0 || present.sa_handler != SIG_IGN) {
    signals.push_back(SIGHUP);
  }
  return signals;
}

sigset_t SetOf(const std::vector<int>& numbers) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : numbers) {
    sigaddset(&signals, number);
  }
  return signals;
}

void ExitAtOnce(int signal_number) {
  _exit(128 + signal_number);
}

// Turns the first signal into a request to stop, and lets a second one end the process.
class SignalThread {
 public:
  static absl::StatusOr<std::unique_ptr<SignalThread>> Start(const StopToken& stop) {
    const std::vector<int> numbers = StopSignals();
    const sigset_t signals = SetOf(numbers);
    sigset_t previous;
    pthread_sigmask(SIG_BLOCK, &signals, &previous);  // Threads that start from here on inherit it.
    const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    const int done_fd = eventfd(0, EFD_CLOEXEC);
    if (signal_fd < 0 || done_fd < 0) {
      return absl::InternalError(absl::StrCat("cannot wait for signals: ", strerror(errno)));
    }
    return std::unique_ptr<SignalThread>(new SignalThread(stop, numbers, previous, signal_fd, done_fd));
  }

  ~SignalThread() {
    const uint64_t one = 1;
    while (write(done_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.Join();
    close(signal_fd_);
    close(done_fd_);
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }

 private:
  SignalThread(const StopToken& stop, std::vector<int> numbers, const sigset_t& previous, int signal_fd, int done_fd)
      : stop_(stop),
        numbers_(std::move(numbers)),
        previous_(previous),
        signal_fd_(signal_fd),
        done_fd_(done_fd),
        thread_("signals", [this] { Run(); }) {}

  void Run() {
    pollfd fds[2] = {{signal_fd_, POLLIN, 0}, {done_fd_, POLLIN, 0}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
    signalfd_siginfo info = {};
    if ((fds[1].revents & POLLIN) != 0 || read(signal_fd_, &info, sizeof(info)) != sizeof(info)) {
      return;
    }
    LogInfo("stopping: ", strsignal(static_cast<int>(info.ssi_signo)), "; another signal ends the process at once");
    // This thread alone takes the next one, by a handler: it must work even if a stop callback hangs right here.
    struct sigaction action = {};
    action.sa_handler = &ExitAtOnce;
    for (const int number : numbers_) {
      sigaction(number, &action, nullptr);
    }
    const sigset_t signals = SetOf(numbers_);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    stop_.RequestStop();
    while (poll(&fds[1], 1, -1) < 0 && errno == EINTR) {
    }
  }

  const StopToken stop_;
  const std::vector<int> numbers_;
  const sigset_t previous_;
  const int signal_fd_;
  const int done_fd_;
  Thread thread_;
};

// A server without free file descriptors turns clients away. The usual limit of 1024 is for select(), which nothing
// here uses.
void RaiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// Descriptors that any of our processes opens at its start, with as much again for its work: a replay server with a
// folder has twenty files open before its first client comes.
constexpr rlim_t kLeastFiles = 48;
// Address space beside the mappings at the start of main: some thirty threads have stacks of 8 MiB, and the allocator
// reserves 64 MiB for each that it serves apart. gRPC aborts if a thread does not start.
constexpr rlim_t kLeastBytes = rlim_t{1} << 30;

// The number of the first descriptors that are not open, up to `most`.
rlim_t FreeFiles(rlim_t limit, rlim_t most) {
  rlim_t free_files = 0;
  for (rlim_t i = 0; i < limit && free_files < most; ++i) {
    free_files += fcntl(static_cast<int>(i), F_GETFD) < 0 ? 1 : 0;
  }
  return free_files;
}

// RESOURCE_EXHAUSTED if the process's limits are too low for any work: later errors, inside gRPC and RocksDB, would not
// name the cause.
absl::Status CheckLimits() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    if (const rlim_t left = FreeFiles(limit.rlim_cur, kLeastFiles); left < kLeastFiles) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this process may have ", limit.rlim_cur, " open files and connections (ulimit -n), and ",
                       limit.rlim_cur - left, " are open already; it needs at least ", kLeastFiles, " more"));
    }
  }
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    void* const probe = mmap(nullptr, kLeastBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED) {
      return absl::ResourceExhaustedError(absl::StrCat("this process may have ", limit.rlim_cur >> 20,
                                                       " MiB of address space (ulimit -v); it needs at least ",
                                                       kLeastBytes >> 20, " MiB more than at its start"));
    }
    munmap(probe, kLeastBytes);
  }
  return absl::OkStatus();
}

absl::Status RunBody(const std::function<absl::Status(const StopToken& stop)>& body, const StopToken& stop) {
  try {
    WAGGLE_RETURN_IF_ERROR(CheckLimits());
    WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<SignalThread> signals, SignalThread::Start(stop));
    KeepGrpc();  // After the above, so that its threads have the signals blocked too.
    return body(stop);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("a bug in Waggle: an exception reached main: ", error.what()));
  } catch (...) {
    return absl::InternalError("a bug in Waggle: an exception that is not a std::exception reached main");
  }
}

}  // namespace

int RunProcess(const std::string& role, const LogOptions& log,
               const std::function<absl::Status(const StopToken& stop)>& body, AllocatingThreads threads) {
  EndWhereMemoryRunsOut();
  KeepFreedMemory(threads);
  RaiseFileLimit();
  SetLogFormat(log.format);
  InitLogging(role, log.level);
  TakeGrpcLog();
  signal(SIGPIPE, SIG_IGN);  // A peer's end is an error to return, not a reason to die.
  signal(SIGXFSZ, SIG_IGN);  // So is a file that may not grow any more (ulimit -f): it counts as a full disk.
  const StopToken stop;
  const absl::Status status = RunBody(body, stop);
  if (status.ok() || (absl::IsCancelled(status) && stop.StopRequested())) {
    return 0;
  }
  LogError(absl::StatusCodeToString(status.code()), ": ", status.message());
  return 1;
}

}  // namespace waggle
