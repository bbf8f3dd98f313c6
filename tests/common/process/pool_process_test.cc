#include "common/process/pool_process.h"

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

TEST_CASE("A machine has cores and memory", "[unit]") {
  CHECK(MachineResources().cores >= 1);
  CHECK(MachineResources().memory_bytes > 0);
}

TEST_CASE("Each learner writes into its own folder of the experiment's", "[unit]") {
  const testing::TemporaryFolder folder;
  WorkOrder order;
  order.output_folder = folder.path();
  CHECK(OutputFolderOf(order) == folder.path());
  order.index = 2;
  CHECK(OutputFolderOf(order) == folder.path() + "/learner-2");
}

TEST_CASE("Nothing is written if the experiment's folder does not exist here", "[unit]") {
  const testing::TemporaryFolder folder;
  WorkOrder order;
  CHECK(OutputFolderOf(order).empty());
  order.output_folder = folder.File("elsewhere");
  CHECK(OutputFolderOf(order).empty());
}

}  // namespace
}  // namespace waggle
