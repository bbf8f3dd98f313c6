#include "actor/environments/pictures/animation.h"

#include <webp/encode.h>
#include <webp/mux.h>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace waggle {
namespace {

constexpr absl::Duration kEndShownFor = absl::Seconds(1);

// WebPConfigLosslessPreset's level, in [0, 9]: higher levels are slower and hardly compress these drawings better.
constexpr int kEffort = 1;

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

struct FreePicture {
  void operator()(WebPPicture* picture) const { WebPPictureFree(picture); }
};

}  // namespace

void Animation::Deleter::operator()(WebPAnimEncoder* encoder) const {
  WebPAnimEncoderDelete(encoder);
}

Animation::Animation() = default;
Animation::~Animation() = default;

absl::Status Animation::Add(const Picture& picture) {
  if (encoder_ == nullptr) {
    width_ = picture.width();
    height_ = picture.height();
    WebPAnimEncoderOptions options;
    WAGGLE_CHECK(WebPAnimEncoderOptionsInit(&options), "headers and library of WebP are of one version");
    encoder_.reset(WebPAnimEncoderNew(static_cast<int>(width_), static_cast<int>(height_), &options));
    if (encoder_ == nullptr) {
      return absl::InternalError(absl::StrCat("WebP takes no pictures of ", width_, " x ", height_, " pixels"));
    }
  }
  if (picture.width() != width_ || picture.height() != height_) {
    return absl::InvalidArgumentError(absl::StrCat("picture: got ", picture.width(), " x ", picture.height(),
                                                   " pixels; wanted ", width_, " x ", height_, ", as the first has"));
  }
  WebPConfig config;
  WebPPicture frame;
  WAGGLE_CHECK(WebPConfigInit(&config) && WebPConfigLosslessPreset(&config, kEffort) && WebPPictureInit(&frame),
               "headers and library of WebP are of one version");
  frame.use_argb = 1;
  frame.width = static_cast<int>(width_);
  frame.height = static_cast<int>(height_);
  const std::unique_ptr<WebPPicture, FreePicture> freed(&frame);
  if (!WebPPictureImportRGB(&frame, picture.rgb().data(), static_cast<int>(width_ * 3))) {
    return absl::ResourceExhaustedError("WebP has no memory for a picture");
  }
  if (!WebPAnimEncoderAdd(encoder_.get(), &frame, Milliseconds(length_), &config)) {
    return ErrorOfEncoder();
  }
  length_ += picture.shown_for();
  return absl::OkStatus();
}

absl::StatusOr<std::string> Animation::Finish() {
  WAGGLE_CHECK(encoder_ != nullptr, "an animation has a picture");
  WebPData data;
  WebPDataInit(&data);
  // A call without a picture sets the end of the last one.
  if (!WebPAnimEncoderAdd(encoder_.get(), nullptr, Milliseconds(length_ + kEndShownFor), nullptr) ||
      !WebPAnimEncoderAssemble(encoder_.get(), &data)) {
    return ErrorOfEncoder();
  }
  std::string bytes(reinterpret_cast<const char*>(data.bytes), data.size);
  WebPDataClear(&data);
  return bytes;
}

absl::Status Animation::ErrorOfEncoder() const {
  return absl::InternalError(absl::StrCat("WebP: ", WebPAnimEncoderGetError(encoder_.get())));
}

}  // namespace waggle
