#pragma once

#include <webp/demux.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace waggle::testing {

// The frames of an animated WebP.
struct DecodedAnimation {
  int width = 0;
  int height = 0;
  std::vector<std::vector<uint8_t>> frames;  // Each [height, width, 3].
  std::vector<int> ends;                     // In milliseconds, by frame.
};

// Empty if the bytes are not an animation.
inline DecodedAnimation Decoded(const std::string& bytes) {
  DecodedAnimation decoded;
  const WebPData data = {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  WebPAnimDecoder* const decoder = WebPAnimDecoderNew(&data, nullptr);
  if (decoder == nullptr) {
    return decoded;
  }
  WebPAnimInfo info;
  WebPAnimDecoderGetInfo(decoder, &info);
  decoded.width = static_cast<int>(info.canvas_width);
  decoded.height = static_cast<int>(info.canvas_height);
  uint8_t* rgba = nullptr;
  int end = 0;
  while (WebPAnimDecoderGetNext(decoder, &rgba, &end) != 0) {
    std::vector<uint8_t> frame;
    for (size_t i = 0; i < size_t{info.canvas_width} * info.canvas_height * 4; ++i) {
      if (i % 4 != 3) {
        frame.push_back(rgba[i]);
      }
    }
    decoded.frames.push_back(std::move(frame));
    decoded.ends.push_back(end);
  }
  WebPAnimDecoderDelete(decoder);
  return decoded;
}

}  // namespace waggle::testing
