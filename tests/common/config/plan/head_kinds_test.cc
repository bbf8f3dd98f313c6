#include "common/config/plan/head_kinds.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Head;

std::string Message(HeadKind kind, const HeadSpec& head) {
  return std::string(CheckHead(kind, head).message());
}

TEST_CASE("a head has its kind's first type unless another is given", "[unit]") {
  CHECK(TypeOf(HeadKind::kQ, HeadSpec()) == "q");
  CHECK(TypeOf(HeadKind::kQ, Head("dueling")) == "dueling");
  for (const HeadKind kind : {HeadKind::kQ, HeadKind::kValue, HeadKind::kCategorical, HeadKind::kNormal,
                              HeadKind::kTanhNormal, HeadKind::kDeterministic, HeadKind::kMixed}) {
    CHECK(TypeOf(kind, HeadSpec()) == Name(kind));
    CHECK(CheckHead(kind, HeadSpec()) == absl::OkStatus());
    CHECK(CheckHead(kind, Head(Name(kind))) == absl::OkStatus());
  }
}

TEST_CASE("keys that mean nothing to a head's kind are refused, all at once", "[unit]") {
  HeadSpec head;
  head.std = "of_state";
  head.initial_std = 0.5;
  head.min_log_std = -3;
  head.max_log_std = 1;
  const std::string logarithms =
      "min_log_std: means nothing to a normal head; wanted none, or a tanh_normal head\n"
      "max_log_std: means nothing to a normal head; wanted none, or a tanh_normal head";
  CHECK(Message(HeadKind::kValue, head) ==
        "std: means nothing to a value head; wanted none, or a normal head\n"
        "initial_std: means nothing to a value head; wanted none, or a normal head whose std is free\n"
        "min_log_std: means nothing to a value head; wanted none, or a tanh_normal head\n"
        "max_log_std: means nothing to a value head; wanted none, or a tanh_normal head");
  CHECK(Message(HeadKind::kNormal, head) ==
        "initial_std: means nothing to a normal head; wanted none, or a normal head whose std is free\n" + logarithms);
  head.std = "free";
  CHECK(Message(HeadKind::kNormal, head) == logarithms);
  head.std = "fixed";
  CHECK_THAT(Message(HeadKind::kNormal, head), Catch::StartsWith("std: got \"fixed\"; wanted one of free, of_state\n"));
  head = HeadSpec();
  head.std = "free";  // The default is refused too.
  head.max_log_std = 2;
  CHECK(Message(HeadKind::kQ, head) ==
        "std: means nothing to a q head; wanted none, or a normal head\n"
        "max_log_std: means nothing to a q head; wanted none, or a tanh_normal head");
  head = HeadSpec();
  head.min_log_std = -3;
  head.max_log_std = 1;
  CHECK(CheckHead(HeadKind::kTanhNormal, head) == absl::OkStatus());
  head = HeadSpec();
  head.std = "free";
  head.initial_std = 0.5;
  CHECK(CheckHead(HeadKind::kMixed, head) == absl::OkStatus());
}

TEST_CASE("a head's kind and the action give its number of outputs", "[unit]") {
  const auto joint = [](std::vector<SpaceLeaf> actions) {
    EnvironmentSpec environment;
    environment.actions = std::move(actions);
    return JointActionOf(environment);
  };
  const JointAction discrete = joint({Discrete("action", 4)});
  const JointAction several = joint({MultiDiscrete("action", {2, 3})});
  const JointAction real = joint({Box("action", DType::kFloat32, {2, 3})});
  const JointAction mixed =
      joint({Box("action/a", DType::kFloat32, {2}), Discrete("action/b", 4), MultiBinary("action/c", {3})});
  HeadSpec of_state;
  of_state.std = "of_state";
  CHECK(NumOutputs(HeadKind::kQ, HeadSpec(), discrete) == 4);
  CHECK(NumOutputs(HeadKind::kCategorical, HeadSpec(), several) == 5);
  CHECK(NumOutputs(HeadKind::kValue, HeadSpec(), real) == 1);
  CHECK(NumOutputs(HeadKind::kNormal, HeadSpec(), real) == 6);
  CHECK(NumOutputs(HeadKind::kNormal, of_state, real) == 12);
  CHECK(NumOutputs(HeadKind::kTanhNormal, HeadSpec(), real) == 12);
  CHECK(NumOutputs(HeadKind::kDeterministic, HeadSpec(), real) == 6);
  CHECK(NumOutputs(HeadKind::kTanhNormal, HeadSpec(), mixed) == 4);
  CHECK(NumOutputs(HeadKind::kMixed, HeadSpec(), mixed) == 4 + 6 + 2);
  CHECK(NumOutputs(HeadKind::kMixed, of_state, mixed) == 4 + 6 + 4);
  CHECK_FALSE(Suits(HeadKind::kQ, several));
  CHECK_FALSE(Suits(HeadKind::kQ, joint({Discrete("action/a", 2), Discrete("action/b", 2)})));
  CHECK_FALSE(Suits(HeadKind::kQ, joint({MultiDiscrete("action", {4})})));
  CHECK(Suits(HeadKind::kCategorical, several));
  CHECK(Suits(HeadKind::kCategorical, joint({MultiBinary("action", {2})})));
  CHECK(Suits(HeadKind::kNormal, real));
  CHECK_FALSE(Suits(HeadKind::kNormal, discrete));
  CHECK(Suits(HeadKind::kMixed, mixed));
  CHECK(Suits(HeadKind::kTanhNormal, real));
  CHECK(Suits(HeadKind::kTanhNormal, mixed));
  CHECK_FALSE(Suits(HeadKind::kTanhNormal, discrete));
  for (const HeadKind kind : {HeadKind::kQ, HeadKind::kCategorical, HeadKind::kNormal, HeadKind::kDeterministic}) {
    CHECK_FALSE(Suits(kind, mixed));
  }
  CHECK_FALSE(Suits(HeadKind::kMixed, several));
  CHECK_FALSE(Suits(HeadKind::kMixed, real));
}

}  // namespace
}  // namespace waggle
