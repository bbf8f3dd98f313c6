#include "common/base/process/pool_process.h"

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

TEST_CASE("Each learner writes into its own folder of the experiment's, if that exists here", "[unit]") {
  const testing::TemporaryFolder folder;
  WorkOrder order;
  CHECK(OutputFolderOf(order).empty());
  order.output_folder = folder.File("elsewhere");
  CHECK(OutputFolderOf(order).empty());
  order.output_folder = folder.path();
  CHECK(OutputFolderOf(order) == folder.path());
  order.index = 2;
  CHECK(OutputFolderOf(order) == folder.path() + "/learner-2");
}

}  // namespace
}  // namespace waggle
