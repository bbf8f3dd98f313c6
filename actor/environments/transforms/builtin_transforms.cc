#include "actor/environments/transforms/action_repeat.h"
#include "actor/environments/transforms/copy_leaf.h"
#include "actor/environments/transforms/flatten.h"
#include "actor/environments/transforms/frame_stack.h"
#include "actor/environments/transforms/no_op_start.h"
#include "actor/environments/transforms/one_hot.h"
#include "actor/environments/transforms/pictures/channels_first.h"
#include "actor/environments/transforms/pictures/grayscale.h"
#include "actor/environments/transforms/pictures/resize.h"
#include "actor/environments/transforms/random_goal.h"
#include "actor/environments/transforms/reward_transform.h"
#include "actor/environments/transforms/scale.h"
#include "actor/environments/transforms/sticky_actions.h"
#include "actor/environments/transforms/time_limit.h"
#include "actor/environments/transforms/transform.h"
#include "common/base/check.h"

namespace waggle {
namespace {

TransformDefinitions* NewDefinitions() {
  auto* const definitions = new TransformDefinitions("transform");
  const auto add = [definitions](const char* name, TransformDefinition definition) {
    WAGGLE_CHECK(definitions->Register(name, std::move(definition)).ok(), "two transforms have one name");
  };
  add("action_repeat", TransformOf<ActionRepeat>("The environment takes each action several times"));
  add("channels_first", TransformOf<ChannelsFirst>("[height, width, channels] becomes [channels, height, width]"));
  add("copy", TransformOf<CopyLeaf>("Shows an observation twice, so that transforms leave one of them as it is"));
  add("flatten", TransformOf<Flatten>("Observations become vectors"));
  add("frame_stack", TransformOf<FrameStack>("Observations show several frames, the newest last"));
  add("grayscale", TransformOf<Grayscale>("Pictures in colours become one channel"));
  add("no_op_start", TransformOf<NoOpStart>("Episodes begin after some steps of choice 0"));
  add("one_hot", TransformOf<OneHot>("Discrete observations become vectors of a one and zeros"));
  add("random_goal", TransformOf<RandomGoal>("Each episode shows a goal that is drawn at its beginning"));
  add("resize", TransformOf<Resize>("Pictures become larger or smaller"));
  add("reward", TransformOf<RewardTransform>("Rewards are shifted, scaled and clipped"));
  add("scale", TransformOf<Scale>("Bytes become numbers between two bounds"));
  add("sticky_actions", TransformOf<StickyActions>("Now and then an action is repeated instead of the next"));
  add("time_limit", TransformOf<TimeLimit>("Episodes are truncated after some steps"));
  return definitions;
}

}  // namespace

const TransformDefinitions& BuiltinTransforms() {
  static const TransformDefinitions* const definitions = NewDefinitions();
  return *definitions;
}

}  // namespace waggle
