#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "tests/support/catch.h"

namespace waggle::testing {

// Blocks writes to a standard stream until it is let go. At most one at a time for each stream.
class StuckStream {
 public:
  // STDOUT_FILENO or STDERR_FILENO.
  explicit StuckStream(int descriptor) : descriptor_(descriptor), saved_(dup(descriptor)) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    reader_ = ends[0];
    REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    const char filling[4096] = {};
    while (write(ends[1], filling, sizeof(filling)) > 0 || errno != EAGAIN) {
    }
    while (write(ends[1], filling, 1) > 0) {
    }
    REQUIRE(fcntl(ends[1], F_SETFL, 0) == 0);
    dup2(ends[1], descriptor_);
    close(ends[1]);
  }
  ~StuckStream() { LetGo(); }
  StuckStream(const StuckStream&) = delete;
  StuckStream& operator=(const StuckStream&) = delete;

  // Releases blocked writes; their output is lost.
  void LetGo() {
    if (saved_ < 0) {
      return;
    }
    std::thread drain([this] {
      char bytes[4096];
      while (read(reader_, bytes, sizeof(bytes)) > 0) {
      }
    });
    dup2(saved_, descriptor_);  // Closes the last writer, so that reads end.
    close(saved_);
    saved_ = -1;
    drain.join();
    close(reader_);
  }

 private:
  const int descriptor_;
  int saved_ = -1;
  int reader_ = -1;
};

}  // namespace waggle::testing
