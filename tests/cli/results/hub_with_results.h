#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "common/net/server.h"
#include "param_server/services/result_service.h"
#include "tests/cli/fake_experiments.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// A hub with a running experiment, "pole-x7k2q", whose files the test writes. Others have the same files, but for
// "pole-empty", which has none.
class HubWithResults {
 public:
  static constexpr char kId[] = "pole-x7k2q";
  static constexpr char kBest[] = "best/step-000000000012/checkpoint.safetensors";

  HubWithResults() {
    std::filesystem::create_directories(folders.output);
    std::filesystem::create_directories(folders.hub + "/weights/best/step-000000000012");
    v1::ExperimentEvent event;
    event.set_number(1);
    event.set_text("begins");
    experiments.events = {event};
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folders.output + "/" + name, std::ios::binary) << text;
  }
  void WriteBest(const std::string& text) const {
    std::ofstream(folders.hub + "/weights/" + kBest, std::ios::binary) << text;
  }
  // Makes a group "pole" of three members, the last of which has no files.
  void MakeGroup() {
    experiments.experiments.clear();
    for (const char* const id : {"pole-0", "pole-1", "pole-empty"}) {
      v1::ExperimentInfo member = RunningExperiment(id);
      member.set_group("pole");
      member.add_settings(std::string("learner.x=") + id);
      experiments.experiments.push_back(member);
    }
  }
  const std::string& address() const { return server->address(); }

  const TemporaryFolder folder;
  const ResultFolders folders = {folder.File("output"), folder.File("hub")};
  FakeExperiments experiments;
  ResultService results{[this](const std::string& id) -> absl::StatusOr<ResultFolders> {
    return id == "pole-empty" ? ResultFolders{folder.File("none"), folder.File("none")} : folders;
  }};
  const std::unique_ptr<RpcServer> server = ValueOf(RpcServer::Start("127.0.0.1:0", {&experiments, &results}));
};

}  // namespace waggle::testing
