#include "common/config/config_errors.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Errors come in the order of the file, those of the command line last", "[unit]") {
  ConfigErrors errors;
  errors.Add({"--set a=1", 0}, "a", "third");
  errors.Add({"x.yaml", 12}, "", "second");
  errors.Add({"x.yaml", 3}, "learner.batch_size", "first");
  CHECK(errors.count() == 3);
  CHECK(errors.ToStatus() == absl::InvalidArgumentError("x.yaml:3: learner.batch_size: first\n"
                                                        "x.yaml:12: second\n"
                                                        "--set a=1: a: third"));
}

}  // namespace
}  // namespace waggle
