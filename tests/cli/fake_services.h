#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "tests/support/catch.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle::testing {

// A hub and a replay server on one free port, with fixed answers.
class FakeServices {
 public:
  FakeServices() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&workers_);
    builder.RegisterService(&replay_);
    server_ = builder.BuildAndStart();
    REQUIRE(server_ != nullptr);
  }
  ~FakeServices() { server_->Shutdown(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // To be changed only while nobody asks.
  v1::OverviewResponse& overview() { return workers_.overview; }
  v1::DescribeResponse& tables() { return replay_.tables; }

 private:
  struct Workers final : public v1::WorkerService::Service {
    grpc::Status Overview(grpc::ServerContext*, const v1::OverviewRequest*, v1::OverviewResponse* response) override {
      *response = overview;
      return grpc::Status::OK;
    }
    v1::OverviewResponse overview;
  };
  struct Replay final : public v1::ReplayService::Service {
    grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest*, v1::DescribeResponse* response) override {
      *response = tables;
      return grpc::Status::OK;
    }
    v1::DescribeResponse tables;
  };

  Workers workers_;
  Replay replay_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace waggle::testing
