#pragma once

#include <grpcpp/test/default_reactor_test_peer.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "replay_server/service/replay_service.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle::fuzz {

using Method = grpc::ServerUnaryReactor* (ReplayService::*)(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                                            grpc::ByteBuffer*);

// Calls the method as the transport does, and waits for its answer. Fails on errors that only a bug causes.
inline grpc::ByteBuffer Ask(ReplayService* service, Method method, const grpc::ByteBuffer& request) {
  grpc::CallbackServerContext context;
  absl::Notification answered;
  const grpc::testing::DefaultReactorTestPeer peer(&context, [&answered](const grpc::Status& status) {
    WAGGLE_CHECK(status.error_code() != grpc::StatusCode::INTERNAL && status.error_code() != grpc::StatusCode::UNKNOWN,
                 status.error_message());
    answered.Notify();
  });
  grpc::ByteBuffer response;
  (service->*method)(&context, &request, &response);
  answered.WaitForNotification();
  while (!peer.test_status_set()) {  // The service uses the context last for this.
    std::this_thread::yield();
  }
  return response;
}

}  // namespace waggle::fuzz
