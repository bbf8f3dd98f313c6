#include "common/rl/checkpoint/checkpoint_contents.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::Status CheckpointContents::Validate() const {
  if (step < 0) {
    return absl::InvalidArgumentError(absl::StrCat("a checkpoint's step is not negative; got ", step));
  }
  for (const auto& [name, text] : texts) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "a checkpoint's text"));
  }
  std::set<absl::string_view> names;
  for (const CheckpointArray& array : arrays) {
    WAGGLE_RETURN_IF_ERROR(Annotate(array.spec.Validate(), "a checkpoint's array"));
    if (!names.insert(array.spec.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("a checkpoint has two arrays named ", array.spec.name));
    }
    if (static_cast<int64_t>(array.data.size()) != array.spec.NumBytes()) {
      return absl::InvalidArgumentError(absl::StrCat("a checkpoint's array ", array.spec.DebugString(), " has ",
                                                     array.data.size(), " bytes instead of ", array.spec.NumBytes()));
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
