// Spawns the command given after the first argument, writes its process id to the file that this names, and waits for
// ever for the end of its standard input.
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "common/base/process/child_process.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  waggle::ChildOptions options;
  options.command.assign(argv + 2, argv + argc);
  options.log_path = "/dev/null";
  const auto child = waggle::ChildProcess::Spawn(options);
  if (!child.ok()) {
    std::cerr << child.status() << std::endl;
    return 1;
  }
  std::ofstream(argv[1]) << (*child)->pid() << std::endl;
  while (true) {
    pause();
  }
}
