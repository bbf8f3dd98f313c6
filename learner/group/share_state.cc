#include "learner/group/share_state.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/rl/training/learner_checkpoint.h"

namespace waggle {
namespace {

// Far longer than the text of an experiment or of a random number generator.
constexpr int64_t kMaxTextBytes = int64_t{64} << 20;

// A hash of the names that both must have alike, so that bytes follow each other in one order.
uint64_t HashOfNames(const CheckpointContents& contents) {
  std::string names;
  for (const CheckpointArray& array : contents.arrays) {
    absl::StrAppend(&names, array.spec.DebugString(), "\n");
  }
  for (const auto& [name, text] : contents.texts) {
    absl::StrAppend(&names, name, "\n");
  }
  return Checksum(names.data(), names.size());
}

}  // namespace

absl::Status ShareText(int root, Collective* collective, std::string* text) {
  auto size = static_cast<int64_t>(text->size());
  WAGGLE_RETURN_IF_ERROR(collective->Broadcast(&size, sizeof(size), root));
  if (size < 0 || size > kMaxTextBytes) {
    return absl::FailedPreconditionError(absl::StrCat("another learner of the group has a text of ", size,
                                                      " bytes in its state; wanted at most ", kMaxTextBytes));
  }
  text->resize(static_cast<size_t>(size));
  return collective->Broadcast(text->data(), size, root);
}

absl::Status ShareState(int rank, int root, const std::string& algorithm, Collective* collective, Trainee* trainee) {
  WAGGLE_ASSIGN_OR_RETURN(CheckpointContents contents, SaveLearner(/*step=*/0, algorithm, trainee));
  const uint64_t own_hash = HashOfNames(contents);
  uint64_t hash = own_hash;
  WAGGLE_RETURN_IF_ERROR(collective->Broadcast(&hash, sizeof(hash), root));
  if (hash != own_hash) {
    return absl::FailedPreconditionError("another learner of the group has a state of another kind");
  }
  for (CheckpointArray& array : contents.arrays) {
    const size_t size = array.data.size();
    const std::shared_ptr<char> bytes = AllocateBytes(size);
    array.data.CopyTo(bytes.get());
    WAGGLE_RETURN_IF_ERROR(collective->Broadcast(bytes.get(), static_cast<int64_t>(size), root));
    array.data = ByteSlices(ByteSlice{bytes.get(), size, bytes});
  }
  for (auto& [name, text] : contents.texts) {
    WAGGLE_RETURN_IF_ERROR(ShareText(root, collective, &text));
  }
  return rank == root ? absl::OkStatus() : RestoreLearner(contents, algorithm, trainee);
}

}  // namespace waggle
