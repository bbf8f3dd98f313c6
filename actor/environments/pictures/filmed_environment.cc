#include "actor/environments/pictures/filmed_environment.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Limits the memory of a long episode: an animation is kept until its episode's end.
constexpr int64_t kMostPictures = 10'000;

}  // namespace

FilmedEnvironment::FilmedEnvironment(std::unique_ptr<Environment> environment, VideoOptions options,
                                     std::shared_ptr<std::atomic<int64_t>> begun)
    : environment_(std::move(environment)), options_(std::move(options)), begun_(std::move(begun)) {}

FilmedEnvironment::~FilmedEnvironment() {
  if (animation_ != nullptr) {
    if (const absl::Status written = Write(); !written.ok()) {
      LogWarning("episode ", episode_, " has no film: ", written.message());
    }
  }
}

absl::Status FilmedEnvironment::Reset(absl::Span<void* const> observations) {
  WAGGLE_RETURN_IF_ERROR(environment_->Reset(observations));
  if (animation_ != nullptr) {
    WAGGLE_RETURN_IF_ERROR(Write());  // Its episode was abandoned.
  }
  episode_ = begun_->fetch_add(1);
  if (episode_ >= options_.episodes) {
    return absl::OkStatus();
  }
  animation_ = std::make_unique<Animation>();
  pictures_ = 0;
  return AddPicture();
}

absl::StatusOr<StepOutcome> FilmedEnvironment::Step(absl::Span<const void* const> actions,
                                                    absl::Span<void* const> observations, float* rewards) {
  WAGGLE_ASSIGN_OR_RETURN(const StepOutcome outcome, environment_->Step(actions, observations, rewards));
  if (animation_ != nullptr) {
    WAGGLE_RETURN_IF_ERROR(AddPicture());
    if (outcome.terminated || outcome.truncated) {
      WAGGLE_RETURN_IF_ERROR(Write());
    }
  }
  return outcome;
}

absl::Status FilmedEnvironment::AddPicture() {
  if (pictures_ == kMostPictures) {
    LogWarning("episode ", episode_, " is longer than ", kMostPictures, " pictures: its file has no more");
  }
  if (++pictures_ > kMostPictures) {
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(const Picture picture, environment_->Draw());
  return animation_->Add(picture);
}

absl::Status FilmedEnvironment::Write() {
  const std::unique_ptr<Animation> animation = std::move(animation_);
  WAGGLE_ASSIGN_OR_RETURN(const std::string bytes, animation->Finish());
  return WriteFileAtomically(absl::StrCat(options_.folder, "/episode-", episode_, ".webp"), bytes);
}

EnvironmentDefinition Filmed(EnvironmentDefinition definition, const VideoOptions& options) {
  definition.create =
      [create = std::move(definition.create), options, begun = std::make_shared<std::atomic<int64_t>>(0)](
          const EnvironmentOptions& settings, uint64_t seed) -> absl::StatusOr<std::unique_ptr<Environment>> {
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Environment> environment, create(settings, seed));
    // An environment that can draw can draw before its first episode.
    WAGGLE_RETURN_IF_ERROR(Annotate(environment->Draw().status(), "--video"));
    return std::make_unique<FilmedEnvironment>(std::move(environment), options, begun);
  };
  return definition;
}

absl::Status PrepareVideoFolder(const std::string& folder) {
  absl::Status status = CreateFolders(folder);
  if (status.ok() && access(folder.c_str(), W_OK | X_OK) != 0) {
    status = FileError(errno, folder, "write to it");
  }
  return status.ok() ? status
                     : absl::InvalidArgumentError(absl::StrCat("--video: got ", folder, ": ", status.message(),
                                                               "; wanted a folder that can be written to"));
}

}  // namespace waggle
