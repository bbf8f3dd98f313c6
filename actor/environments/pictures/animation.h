#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/environments/pictures/picture.h"

struct WebPAnimEncoder;

namespace waggle {

// Pictures of one size as an animated WebP without loss. Holds them encoded in memory until the end. One thread.
class Animation {
 public:
  Animation();
  ~Animation();
  Animation(const Animation&) = delete;
  Animation& operator=(const Animation&) = delete;

  // INVALID_ARGUMENT if the picture's size differs from the first one's; RESOURCE_EXHAUSTED if there is no memory for
  // it; INTERNAL if WebP cannot encode it.
  absl::Status Add(const Picture& picture);
  // The file's bytes, with the last picture shown a second longer. At least one picture must have been added. Call
  // nothing after it.
  absl::StatusOr<std::string> Finish();

 private:
  absl::Status ErrorOfEncoder() const;

  struct Deleter {
    void operator()(WebPAnimEncoder* encoder) const;
  };
  std::unique_ptr<WebPAnimEncoder, Deleter> encoder_;  // Null before the first picture.
  int64_t width_ = 0;
  int64_t height_ = 0;
  absl::Duration length_;  // Total time of the pictures so far.
};

}  // namespace waggle
