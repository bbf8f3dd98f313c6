#include "param_server/services/run_services.h"

namespace waggle {

absl::Status ClosedError() {
  return absl::NotFoundError("the experiment does not run here any more");
}

}  // namespace waggle
