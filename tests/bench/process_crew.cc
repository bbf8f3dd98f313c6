#include "tests/bench/process_crew.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "common/base/check.h"

namespace waggle::bench {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(5);

void* SharedMemory(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  WAGGLE_CHECK(memory != MAP_FAILED, "memory can be had");
  return memory;  // Zero, the initial value of all its contents.
}

Watched Summarise(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  return {rates.back(), rates[rates.size() / 2]};
}

}  // namespace

void Seat::TimedCall(absl::Duration taken) {
  const uint64_t call = calls.load(std::memory_order_relaxed);
  call_ms[call % kMaxCalls].store(static_cast<float>(absl::ToDoubleMilliseconds(taken)), std::memory_order_relaxed);
  calls.store(call + 1, std::memory_order_release);
}

ProcessCrew::ProcessCrew() : shared_(static_cast<Shared*>(SharedMemory(sizeof(Shared)))) {}

ProcessCrew::~ProcessCrew() {
  shared_->stop = true;
  Join();
  munmap(shared_, sizeof(Shared));
}

void ProcessCrew::Start(const Work& work) {
  WAGGLE_CHECK(processes_.size() < kMaxProcesses, "there is a seat for each");
  Seat* const seat = &shared_->seats[processes_.size()];
  const pid_t parent = getpid();
  const pid_t process = fork();
  WAGGLE_CHECK(process >= 0, "processes can be forked");
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
      work(seat, shared_->stop);
    }
    _exit(0);  // The parent prints and tidies up.
  }
  processes_.push_back(process);
}

bool ProcessCrew::Reap() {
  bool any = false;
  for (pid_t& process : processes_) {
    int status = 0;
    if (process != 0 && waitpid(process, &status, WNOHANG) == process) {
      WAGGLE_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process of the benchmark failed; see above");
      process = 0;
    }
    any = any || process != 0;
  }
  return any;
}

void ProcessCrew::Join() {
  while (Reap()) {
    absl::SleepFor(kLook);
  }
}

void ProcessCrew::AwaitWork(absl::Duration warm_up) {
  const auto idle = [this](size_t i) {
    const Seat& seat = shared_->seats[i];
    return seat.inserted + seat.sampled + seat.updated == 0;
  };
  for (size_t i = 0; i < processes_.size(); ++i) {
    while (idle(i)) {
      Reap();
      absl::SleepFor(kLook);
    }
  }
  absl::SleepFor(warm_up);
}

Rates ProcessCrew::Watch(int rounds, absl::Duration round) const {
  struct Counters {
    double inserted = 0;
    double sampled = 0;
    double updated = 0;
    absl::Time at;
  };
  const auto read = [this] {
    Counters counters;
    for (const Seat& seat : shared_->seats) {
      counters.inserted += static_cast<double>(seat.inserted);
      counters.sampled += static_cast<double>(seat.sampled);
      counters.updated += static_cast<double>(seat.updated);
    }
    counters.at = absl::Now();
    return counters;
  };
  std::vector<double> inserted;
  std::vector<double> sampled;
  std::vector<double> updated;
  Counters before = read();
  for (int i = 0; i < rounds; ++i) {
    absl::SleepFor(round);
    const Counters after = read();
    const double seconds = absl::ToDoubleSeconds(after.at - before.at);
    inserted.push_back((after.inserted - before.inserted) / seconds);
    sampled.push_back((after.sampled - before.sampled) / seconds);
    updated.push_back((after.updated - before.updated) / seconds);
    before = after;
  }
  return {Summarise(std::move(inserted)), Summarise(std::move(sampled)), Summarise(std::move(updated))};
}

std::vector<double> ProcessCrew::WatchCalls(absl::Duration duration) const {
  const Seat& seat = shared_->seats[0];
  uint64_t first = seat.calls;
  absl::SleepFor(duration);
  const uint64_t calls = seat.calls;
  first = std::max(first, calls - std::min<uint64_t>(calls, Seat::kMaxCalls));
  std::vector<double> times;
  for (uint64_t call = first; call < calls; ++call) {
    times.push_back(seat.call_ms[call % Seat::kMaxCalls]);
  }
  WAGGLE_CHECK(!times.empty(), "there was a call");
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace waggle::bench
