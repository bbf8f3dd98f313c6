// A parameter server without workers that takes one experiment. Files two folders above DATA_DIR control it: `state`
// holds the experiment's state (default "running"); the experiment is closed once it is over. `weights_unsaved` holds
// the reason why weights are not kept; then the server exits with 1. If `refuse` exists, it refuses the experiment. It
// writes the submission to `submitted` beside them, and adds a byte to `looks` at each request for the experiment. The
// best weights of a solved run are of step 15. Takes the flags of waggle-param-server.
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "waggle/v1/experiment.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace {

// The first word of a file that a test wrote.
std::string Word(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

class FakeExperimentService final : public waggle::v1::ExperimentService::Service {
 public:
  explicit FakeExperimentService(std::string folder) : folder_(std::move(folder)) {}

  grpc::Status Submit(grpc::ServerContext*, const waggle::v1::SubmitRequest* request,
                      waggle::v1::SubmitResponse* response) override {
    if (std::ifstream(folder_ + "/refuse")) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "the test refuses it"};
    }
    std::ofstream(folder_ + "/submitted") << request->submitted_yaml() << "---\n" << request->effective_yaml();
    response->set_id("x-x7k2q");
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext*, const waggle::v1::GetExperimentRequest* request,
                   waggle::v1::ExperimentInfo* response) override {
    if (request->id() != "x-x7k2q") {
      return {grpc::StatusCode::NOT_FOUND, "no such experiment"};
    }
    const std::string state = Word(folder_ + "/state");
    response->set_id("x-x7k2q");
    response->set_state(state == "solved"  ? waggle::v1::RUN_STATE_SOLVED
                        : state == "limit" ? waggle::v1::RUN_STATE_LIMIT
                                           : waggle::v1::RUN_STATE_RUNNING);
    response->set_reason(state.empty() ? "" : "the test said " + state);
    response->set_ended_at_us(state.empty() ? 0 : 2);
    std::ofstream(folder_ + "/looks", std::ios::app) << '.';
    return grpc::Status::OK;
  }

 private:
  const std::string folder_;
};

class FakeWorkerService final : public waggle::v1::WorkerService::Service {
 public:
  explicit FakeWorkerService(std::string folder) : folder_(std::move(folder)) {}

  grpc::Status Overview(grpc::ServerContext*, const waggle::v1::OverviewRequest*,
                        waggle::v1::OverviewResponse* response) override {
    response->set_env_steps(1234);
    if (Word(folder_ + "/state") == "solved") {
      response->mutable_result()->mutable_evaluation()->mutable_version()->set_epoch(1);
      response->mutable_result()->mutable_evaluation()->mutable_version()->set_version(15);
    }
    response->set_weights_unsaved(Word(folder_ + "/weights_unsaved"));
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
  const std::string tests = folder + "/../..";
  FakeWorkerService workers(tests);
  FakeExperimentService experiments(tests);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&workers);
  builder.RegisterService(&experiments);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  std::ofstream(folder + "/address.tmp") << "127.0.0.1:" << port << std::endl;
  std::rename((folder + "/address.tmp").c_str(), (folder + "/address").c_str());
  int signal = 0;
  sigwait(&signals, &signal);
  server->Shutdown();
  return std::ifstream(tests + "/weights_unsaved") ? 1 : 0;
}
