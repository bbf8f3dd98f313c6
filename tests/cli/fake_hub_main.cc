// A parameter server that knows no workers. Each Overview tells the run state that stands in the file `state` two
// folders above DATA_DIR ("running" where there is none), why weights are not kept as the file `weights_unsaved` beside
// it says, and adds a byte to the file `looks` beside it. Of a solved run the best weights are of step 15. Ends with 1
// where weights are not kept. Takes the flags of waggle-param-server.
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "waggle/v1/worker.grpc.pb.h"

namespace {

class FakeWorkerService final : public waggle::v1::WorkerService::Service {
 public:
  explicit FakeWorkerService(std::string folder) : folder_(std::move(folder)) {}

  grpc::Status Overview(grpc::ServerContext*, const waggle::v1::OverviewRequest*,
                        waggle::v1::OverviewResponse* response) override {
    std::string state;
    std::ifstream(folder_ + "/../../state") >> state;
    response->set_run_state(state == "solved"  ? waggle::v1::RUN_STATE_SOLVED
                            : state == "limit" ? waggle::v1::RUN_STATE_LIMIT
                                               : waggle::v1::RUN_STATE_RUNNING);
    response->set_outcome_reason(state.empty() ? "" : "the test said " + state);
    response->set_env_steps(1234);
    if (state == "solved") {
      response->mutable_result()->mutable_evaluation()->mutable_version()->set_epoch(1);
      response->mutable_result()->mutable_evaluation()->mutable_version()->set_version(15);
    }
    std::string unsaved;
    std::ifstream(folder_ + "/../../weights_unsaved") >> unsaved;
    response->set_weights_unsaved(unsaved);
    std::ofstream(folder_ + "/../../looks", std::ios::app) << '.';
    return grpc::Status::OK;
  }

 private:
  const std::string folder_;
};

}  // namespace

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::string folder;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--data-dir") {
      folder = argv[i + 1];
    }
  }
  FakeWorkerService service(folder);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  std::ofstream(folder + "/address.tmp") << "127.0.0.1:" << port << std::endl;
  std::rename((folder + "/address.tmp").c_str(), (folder + "/address").c_str());
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown();
  return std::ifstream(folder + "/../../weights_unsaved") ? 1 : 0;
}
