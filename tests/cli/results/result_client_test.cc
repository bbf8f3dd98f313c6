#include "cli/results/result_client.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>

#include "common/base/tensor/checksum.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::TemporaryFolder;

// A hub with one file, that a test may make lie.
class FakeResults final : public v1::ResultService::Service {
 public:
  FakeResults() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    REQUIRE(server_ != nullptr);
  }
  ~FakeResults() override { server_->Shutdown(); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status List(grpc::ServerContext*, const v1::ListResultsRequest*, v1::ListResultsResponse* response) override {
    *response->add_files() = file;
    return grpc::Status::OK;
  }
  grpc::Status Fetch(grpc::ServerContext*, const v1::FetchResultRequest* request,
                     grpc::ServerWriter<v1::FetchResultResponse>* writer) override {
    begins.push_back(request->begin());
    v1::FetchResultResponse piece;
    piece.set_offset(request->begin());
    piece.set_data(text.substr(request->begin(), 4));
    piece.set_checksum(Checksum(piece.data().data(), piece.data().size()));
    change(&piece);
    writer->Write(piece);
    return end;
  }

  v1::ResultFile file;
  std::string text = "0123456789";
  std::function<void(v1::FetchResultResponse*)> change = [](v1::FetchResultResponse*) {};
  grpc::Status end = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the test ends the transfer");
  std::vector<uint64_t> begins;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

v1::ResultFile TenBytes() {
  v1::ResultFile file;
  file.set_name("summary.json");
  file.set_size(10);
  return file;
}

TEST_CASE("A transfer that breaks off goes on where it ended", "[grpc]") {
  FakeResults results;
  const TemporaryFolder folder;
  REQUIRE_OK(
      ResultClient(results.address()).Fetch("x", TenBytes(), folder.File("file"), absl::Seconds(60), StopToken()));
  CHECK(Contents(folder.File("file")) == "0123456789");
  CHECK(results.begins == std::vector<uint64_t>{0, 4, 8});
}

TEST_CASE("Damaged and misplaced pieces of a file end its transfer", "[grpc]") {
  FakeResults results;
  const TemporaryFolder folder;
  const std::function<void(v1::FetchResultResponse*)> changes[] = {
      [](v1::FetchResultResponse* piece) { piece->set_checksum(piece->checksum() + 1); },
      [](v1::FetchResultResponse* piece) { piece->set_offset(piece->offset() + 1); },
      [](v1::FetchResultResponse* piece) {
        piece->set_data(std::string(20, 'x'));
        piece->set_checksum(Checksum(piece->data().data(), piece->data().size()));
      },
      [](v1::FetchResultResponse* piece) {
        piece->clear_data();
        piece->set_checksum(Checksum("", 0));
      },
  };
  int number = 0;
  for (const auto& change : changes) {
    results.change = change;
    CHECK(absl::IsDataLoss(
        ResultClient(results.address())
            .Fetch("x", TenBytes(), folder.File(std::to_string(number++)), absl::Seconds(60), StopToken())));
  }
  results.change = [](v1::FetchResultResponse*) {};
  results.end = grpc::Status::OK;  // Too early.
  CHECK(absl::IsDataLoss(
      ResultClient(results.address()).Fetch("x", TenBytes(), folder.File("short"), absl::Seconds(60), StopToken())));
}

TEST_CASE("A listing whose names lead out of a folder is refused", "[grpc]") {
  FakeResults results;
  for (const char* const name : {"../x", "/x", "a/../../x", "", ".x", "a//b", "a/b/c/d", "a\nb", "a b", "-x"}) {
    INFO(name);
    CHECK_FALSE(IsResultName(name));
    results.file.set_name(name);
    CHECK(absl::IsInvalidArgument(ResultClient(results.address()).List("x", StopToken()).status()));
  }
  for (const char* const name :
       {"summary.json", "best/step-000000000012/checkpoint.safetensors", "events.out.tfevents.1700000000.a_b-c.17"}) {
    CHECK(IsResultName(name));
    results.file.set_name(name);
    CHECK(ResultClient(results.address()).List("x", StopToken()).ok());
  }
}

}  // namespace
}  // namespace waggle
