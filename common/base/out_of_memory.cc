#include "common/base/out_of_memory.h"

#include <cstdlib>
#include <new>

#include "common/base/log.h"

namespace waggle {

void EndOutOfMemory() {
  LogWithoutMemory("there is no memory left: this process ends");
  std::abort();
}

void EndWhereMemoryRunsOut() {
  std::set_new_handler(&EndOutOfMemory);
}

}  // namespace waggle
