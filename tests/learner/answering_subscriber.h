#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hub/ports/model.h"
#include "tests/support/catch.h"

namespace waggle::testing {

// Answers by a script: `answer` gets the number of the pull, from 0.
class AnsweringSubscriber : public ModelSubscriber {
 public:
  using Answer = absl::StatusOr<std::optional<ModelSnapshot>>;

  explicit AnsweringSubscriber(std::function<Answer(int pull)> answer) : answer_(std::move(answer)) {}

  Answer PullNewer(std::optional<ModelVersion> version, const StopToken& /*stop*/) override {
    CHECK_FALSE(version.has_value());
    return answer_(pulls_++);
  }
  absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken&) override {
    return absl::UnimplementedError("not asked for");
  }
  absl::Status WaitNewer(std::optional<ModelVersion>, const StopToken&) override {
    return absl::InternalError("the test must not wait: there may be no weights at all");
  }

 private:
  const std::function<Answer(int)> answer_;
  int pulls_ = 0;
};

}  // namespace waggle::testing
