#include "common/base/process/pool_process.h"

#include <filesystem>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/machine_memory.h"

namespace waggle {

WorkerResources MachineResources() {
  WorkerResources resources;
  resources.cores = std::thread::hardware_concurrency();
  resources.memory_bytes = MachineMemoryBytes();
  return resources;
}

std::string OutputFolderOf(const WorkOrder& order) {
  std::error_code error;
  if (order.output_folder.empty() || !std::filesystem::is_directory(order.output_folder, error)) {
    LogWarning("no checkpoints are written: this machine has no folder \"", order.output_folder,
               "\", where the files of experiment ", order.experiment_id,
               " go; the hub and its learners must see the same one");
    return "";
  }
  return order.index == 0 ? order.output_folder : absl::StrCat(order.output_folder, "/learner-", order.index);
}

}  // namespace waggle
