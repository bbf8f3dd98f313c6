#include "common/config/experiment/self_play.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/spec/agent_view.h"

namespace waggle {

void SelfPlayOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("size", &size, In(0, 256));
  visitor.Int("every", &every, In(1, 1'000'000'000));
  visitor.Double("newest_share", &newest_share, In(0, 1));
}

absl::StatusOr<EnvironmentSpec> SelfPlaySpec(const EnvironmentSpec& environment) {
  WAGGLE_RETURN_IF_ERROR(Annotate(environment.Validate(), "environment"));
  const auto refused = [&environment](const std::string& fact, const char* wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("actor.self_play: environment ", environment.name, " has ", fact, "; wanted ", wanted));
  };
  const std::vector<std::string> agents = AgentsOf(environment);
  if (agents.size() != 2) {
    return refused(absl::StrCat(agents.size(), agents.size() == 1 ? " agent" : " agents"), "two");
  }
  AgentView first = ViewOf(environment, agents[0]);
  const AgentView second = ViewOf(environment, agents[1]);
  if (!(first.spec == second.spec)) {
    return refused(absl::StrCat("agents of different spaces, ", agents[0], ": ", first.spec.DebugString(), ", ",
                                agents[1], ": ", second.spec.DebugString()),
                   "equal ones");
  }
  if (first.leaves.size() + second.leaves.size() != environment.observations.size()) {
    return refused("observations of neither agent", "none, as opponents and learner see their own");
  }
  return std::move(first.spec);
}

}  // namespace waggle
