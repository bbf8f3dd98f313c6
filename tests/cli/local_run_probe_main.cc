// local_run_probe BINARY_FOLDER FILE OUTPUT_DIR [KEY=VALUE …]: `waggle run` with the executables of another folder.
#include "cli/local_run.h"
#include "common/config/yaml_file.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    return 2;
  }
  waggle::RunFlags flags;
  flags.file = argv[2];
  flags.output_dir = argv[3];
  for (int i = 4; i < argc; ++i) {
    flags.overrides.push_back(waggle::ParseOverride(argv[i]).value());
  }
  return waggle::RunLocally(flags, argv[1]);
}
