#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/threads/stop_token.h"
#include "tests/cli/fake_experiments.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle::testing {

// A hub, a replay server, or both on one free port, with fixed answers.
class FakeServices {
 public:
  enum class Which { kBoth, kHub, kReplayServer, kNone };

  explicit FakeServices(Which which = Which::kBoth) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    if (which == Which::kBoth || which == Which::kHub) {
      builder.RegisterService(&workers);
      builder.RegisterService(&experiments);
    }
    if (which == Which::kBoth || which == Which::kReplayServer) {
      builder.RegisterService(&replay);
    }
    server_ = builder.BuildAndStart();
    REQUIRE(server_ != nullptr);
  }
  ~FakeServices() { server_->Shutdown(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Change the fields of services only while no call runs, or in the hooks.
  struct Workers final : public v1::WorkerService::Service {
    grpc::Status Overview(grpc::ServerContext*, const v1::OverviewRequest*, v1::OverviewResponse* response) override {
      if (before_overview) {
        before_overview();
      }
      if (none) {
        return {grpc::StatusCode::NOT_FOUND, "no such experiment"};
      }
      *response = overview;
      return grpc::Status::OK;
    }
    std::function<void()> before_overview;  // Called first by Overview.
    v1::OverviewResponse overview;          // Answers for any experiment.
    bool none = false;                      // Overview answers NOT_FOUND.
  };
  struct Replay final : public v1::ReplayService::Service {
    grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest*, v1::DescribeResponse* response) override {
      if (describe_hangs_until.has_value()) {
        describe_hangs_until->Wait();
      }
      *response = tables;
      return grpc::Status::OK;
    }
    grpc::Status Explain(grpc::ServerContext*, const v1::ExplainRequest* request,
                         v1::ExplainResponse* response) override {
      explain_requests.push_back(*request);
      *response = explanation;
      return grpc::Status::OK;
    }
    grpc::Status Inspect(grpc::ServerContext*, const v1::InspectRequest* request,
                         v1::InspectResponse* response) override {
      inspect_requests.push_back(*request);
      if (request->table() != "t" && request->table() != "pole-x7k2q/t") {
        return {grpc::StatusCode::NOT_FOUND, "no table of that name"};
      }
      *response = inspection;
      // Three pages with three items each.
      response->set_next_page_token(inspect_requests.size() % 3 == 0 ? "" : "more");
      return grpc::Status::OK;
    }
    grpc::Status Reconfigure(grpc::ServerContext*, const v1::ReconfigureRequest* request,
                             v1::ReconfigureResponse* response) override {
      reconfigure_requests.push_back(*request);
      *response = reconfigured;
      return request->dry_run() ? grpc::Status::OK : reconfigure_status;
    }
    v1::InspectResponse inspection;
    std::vector<v1::InspectRequest> inspect_requests;
    v1::ReconfigureResponse reconfigured;
    grpc::Status reconfigure_status;  // The answer to changes that are not dry runs.
    std::vector<v1::ReconfigureRequest> reconfigure_requests;
    v1::DescribeResponse tables;
    std::optional<StopToken> describe_hangs_until;  // Describe answers only after this stop.
    v1::ExplainResponse explanation;
    std::vector<v1::ExplainRequest> explain_requests;
  };

  Workers workers;
  FakeExperiments experiments;
  Replay replay;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace waggle::testing
