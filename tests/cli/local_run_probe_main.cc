// local_run_probe BINARY_FOLDER FILE OUTPUT_DIR [KEY=VALUE …]: `waggle run` with the executables of another folder. The
// file that WAGGLE_TEST_CLOCK names holds the seconds by which its wall clock is ahead.
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/run/local_run.h"
#include "common/config/yaml_file.h"

// Replaces the C library's function for all callers in this program.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  const char* const path = clock == CLOCK_REALTIME ? getenv("WAGGLE_TEST_CLOCK") : nullptr;
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    char text[16] = {};
    const ssize_t got = read(file, text, sizeof(text) - 1);
    close(file);
    time->tv_sec += got > 0 ? atol(text) : 0;
  }
  return static_cast<int>(result);
}

int main(int argc, char** argv) {
  if (argc < 4) {
    return 2;
  }
  waggle::RunFlags flags;
  flags.file = argv[2];
  flags.output_dir = argv[3];
  for (int i = 4; i < argc; ++i) {
    flags.overrides.push_back(waggle::ParseOverride(argv[i]).value());
  }
  return waggle::RunLocally(flags, argv[1]);
}
