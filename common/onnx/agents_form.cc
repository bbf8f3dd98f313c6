#include "common/onnx/agents_form.h"

#include <map>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/config/spec/agent_view.h"

namespace waggle {
namespace {

PolicyDecision DecideByOwnHead(PolicyGraph* policy, const NetworkPlan& plan, NetworkGraph::Output* output) {
  const HeadPlan* const q = plan.FindHead("q");
  return DecideByHead(&policy->graph(), plan, q != nullptr ? *q : *plan.FindHead("policy"), output);
}

}  // namespace

absl::StatusOr<PolicyDecision> DecideByAgents(
    PolicyGraph* policy, const std::string& network, bool share,
    const std::function<PolicyDecision(NetworkGraph* net, NetworkGraph::Output* output)>& decide) {
  const EnvironmentSpec& environment = policy->environment();
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<AgentGroup> groups, AgentGroups(environment, share));
  std::map<std::string, OnnxValue> parts;  // Elements of actions, by leaf.
  PolicyDecision all;
  for (const AgentGroup& group : groups) {
    NetworkGraph& net = policy->net(group.NetworkName(network));
    for (const std::string& agent : group.agents) {
      const AgentView view = ViewOf(environment, agent);
      const JointAction action = JointActionOf(view.spec);
      NetworkGraph::Output output = net.Call(policy->InputsOf(net, view.leaves));
      PolicyDecision one = decide != nullptr ? decide(&net, &output) : DecideByOwnHead(policy, net.plan(), &output);
      for (const JointAction::Part& part : action.parts) {
        const bool chooses = part.choices > 0;
        const std::string name = NameOf(agent, view.spec.actions[part.leaf].array.name);
        parts[name] = policy->graph().Slice(chooses ? *one.choices : *one.reals, 1,
                                            part.first - (chooses ? 0 : action.num_choosing()), part.elements);
      }
      for (auto& [name, value] : one.more) {
        all.more.emplace_back(NameOf(agent, name), std::move(value));
      }
    }
  }
  std::vector<OnnxValue> choices, reals;
  for (const JointAction::Part& part : policy->action().parts) {
    (part.choices > 0 ? choices : reals).push_back(parts.at(environment.actions[part.leaf].array.name));
  }
  if (!choices.empty()) {
    all.choices = policy->graph().Concat(choices, 1);
  }
  if (!reals.empty()) {
    all.reals = policy->graph().Concat(reals, 1);
  }
  return all;
}

}  // namespace waggle
