#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// Redirects a standard stream to a file during its life. At most one at a time for each stream.
class CapturedStream {
 public:
  // STDOUT_FILENO or STDERR_FILENO.
  explicit CapturedStream(int descriptor) : descriptor_(descriptor) {
    std::fflush(nullptr);
    saved_ = dup(descriptor_);
    std::FILE* const file = std::fopen(folder_.File("captured").c_str(), "w");
    REQUIRE(file != nullptr);
    dup2(fileno(file), descriptor_);
    std::fclose(file);
  }
  ~CapturedStream() { Restore(); }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

  // Ends the capture and returns the output.
  std::string Finish() {
    Restore();
    std::ifstream file(folder_.File("captured"), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  void Restore() {
    if (saved_ >= 0) {
      std::fflush(nullptr);
      dup2(saved_, descriptor_);
      close(saved_);
      saved_ = -1;
    }
  }

  const TemporaryFolder folder_;
  const int descriptor_;
  int saved_ = -1;
};

}  // namespace waggle::testing
