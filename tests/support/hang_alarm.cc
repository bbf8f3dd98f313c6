#define CATCH_CONFIG_EXTERNAL_INTERFACES  // Needed for listeners in Catch 2.
#include "tests/support/hang_alarm.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// The limit of a test case or a section with this tag; far more than any needs on a busy machine.
struct Limit {
  const char* tag;
  unsigned seconds;
};
constexpr unsigned kUsualSeconds = 300;
constexpr Limit kLimits[] = {{"[e2e]", 600}, {"[learning]", 14'400}, {"[soak]", 14'400}};

// The signal handler's message, as the handler must neither allocate nor take a lock.
char message[1'024];
volatile size_t message_size = 0;

void OnAlarm(int /*signal*/) {
  (void)!write(STDERR_FILENO, message, message_size);
  std::signal(SIGABRT, SIG_DFL);  // Catch's handler takes locks that the hanging thread may hold.
  abort();
}

// Arms the alarm for each test case and each of its sections. Linked into every test program.
#if CATCH_VERSION_MAJOR >= 3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class HangListener final : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    ListenerBase::testCaseStarting(test);
    const std::string tags = test.tagsAsString();
    unsigned seconds = kUsualSeconds;
    for (const Limit& limit : kLimits) {
      seconds = tags.find(limit.tag) != std::string::npos ? std::max(seconds, limit.seconds) : seconds;
    }
    seconds_ = seconds;
    ArmHangAlarm("test case \"" + test.name + "\"", seconds);
  }

  // Each section has the time of a test case, because some cases have a section for each algorithm.
  void sectionStarting(const Catch::SectionInfo& section) override {
    ListenerBase::sectionStarting(section);
    ArmHangAlarm("section \"" + section.name + "\"", seconds_);
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    DisarmHangAlarm();
    ListenerBase::testCaseEnded(stats);
  }

 private:
  unsigned seconds_ = kUsualSeconds;
};

CATCH_REGISTER_LISTENER(HangListener)

}  // namespace

void ArmHangAlarm(const std::string& what, unsigned seconds) {
  alarm(0);
  const std::string text = "\n" + what + " hangs: it has run for more than " + std::to_string(seconds) + " s\n";
  message_size = std::min(text.size(), sizeof(message));
  std::copy_n(text.data(), message_size, message);
  std::signal(SIGALRM, OnAlarm);
  alarm(seconds);
}

void DisarmHangAlarm() {
  alarm(0);
}

}  // namespace waggle::testing
