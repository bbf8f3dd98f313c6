#include "param_server/services/result_service.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/tensor/checksum.h"
#include "common/net/channel.h"
#include "common/net/server.h"
#include "common/net/status_convert.h"
#include "common/net/unary_call.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

// A server with the files of one experiment, "x".
class Server {
 public:
  Server() {
    std::filesystem::create_directories(folders_.output);
    std::filesystem::create_directories(folders_.hub);
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folders_.output + "/" + name, std::ios::binary) << text;
  }
  v1::ListResultsResponse List() const {
    v1::ListResultsRequest request;
    request.set_experiment_id("x");
    return ValueOf(CallUnary(stub.get(), &v1::ResultService::Stub::List, request, absl::Seconds(60)));
  }
  // A request for a whole file of the listing.
  v1::FetchResultRequest Whole(const std::string& name) const {
    v1::FetchResultRequest request;
    request.set_experiment_id("x");
    request.set_name(name);
    const v1::ListResultsResponse listing = List();
    for (const v1::ResultFile& file : listing.files()) {
      if (file.name() == name) {
        request.set_identity(file.identity());
        request.set_end(file.size());
      }
    }
    return request;
  }
  absl::Status Fetch(const v1::FetchResultRequest& request, std::string* text, int* pieces = nullptr) const {
    grpc::ClientContext context;
    const auto stream = stub->Fetch(&context, request);
    v1::FetchResultResponse piece;
    uint64_t next = request.begin();
    while (stream->Read(&piece)) {
      CHECK(piece.offset() == next);
      CHECK(piece.data().size() <= size_t{1} << 20);
      CHECK(piece.checksum() == Checksum(piece.data().data(), piece.data().size()));
      next += piece.data().size();
      *text += piece.data();
      if (pieces != nullptr) {
        ++*pieces;
      }
    }
    return FromGrpcStatus(stream->Finish());
  }

  const TemporaryFolder folder;
  const ResultFolders folders_ = {folder.File("output"), folder.File("hub")};
  ResultService service{[this](const std::string& id) -> absl::StatusOr<ResultFolders> {
                          if (id != "x") {
                            return absl::NotFoundError("there is no experiment " + id);
                          }
                          return folders_;
                        },
                        /*max_streams=*/3};
  const std::unique_ptr<RpcServer> server = ValueOf(RpcServer::Start("127.0.0.1:0", {&service}));
  const std::unique_ptr<v1::ResultService::Stub> stub =
      v1::ResultService::NewStub(NewChannel(server->address(), "test"));
};

std::string Pattern(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>(i * 7 + i / 1000);
  }
  return text;
}

TEST_CASE("files come in pieces of at most a mebibyte with checksums, from any place on", "[grpc]") {
  const Server server;
  const std::string picture = Pattern(2'500'000);
  server.Write("curves.png", picture);
  server.Write("experiment.yaml", "");
  std::string got;
  int pieces = 0;
  REQUIRE_OK(server.Fetch(server.Whole("curves.png"), &got, &pieces));
  CHECK(got == picture);
  CHECK(pieces == 3);
  v1::FetchResultRequest part = server.Whole("curves.png");
  part.set_begin(1'234'567);
  part.set_end(2'400'000);
  got.clear();
  REQUIRE_OK(server.Fetch(part, &got));
  CHECK(got == picture.substr(1'234'567, 2'400'000 - 1'234'567));
  got.clear();
  REQUIRE_OK(server.Fetch(server.Whole("experiment.yaml"), &got));
  CHECK(got.empty());
}

TEST_CASE("a growing file is sent as it was when it was listed", "[grpc]") {
  const Server server;
  server.Write("metrics.csv", "1\n2\n");
  const v1::FetchResultRequest request = server.Whole("metrics.csv");
  server.Write("metrics.csv", "1\n2\n3\n");
  std::string got;
  REQUIRE_OK(server.Fetch(request, &got));
  CHECK(got == "1\n2\n");
}

TEST_CASE("wrong requests for files are refused", "[grpc]") {
  const Server server;
  server.Write("summary.json", "{}\n");
  std::string got;
  v1::FetchResultRequest request = server.Whole("summary.json");
  request.set_experiment_id("y");
  CHECK(absl::IsNotFound(server.Fetch(request, &got)));
  request = server.Whole("summary.json");
  request.set_name("../output/summary.json");
  CHECK(absl::IsNotFound(server.Fetch(request, &got)));
  request = server.Whole("summary.json");
  request.set_begin(4);
  CHECK(absl::IsInvalidArgument(server.Fetch(request, &got)));
  request = server.Whole("summary.json");
  request.set_end(uint64_t{1} << 63);
  CHECK(absl::IsInvalidArgument(server.Fetch(request, &got)));
  request = server.Whole("summary.json");
  request.set_end(1000);
  CHECK(absl::IsAborted(server.Fetch(request, &got)));
  request = server.Whole("summary.json");
  request.set_identity(request.identity() + 1);
  CHECK(absl::IsAborted(server.Fetch(request, &got)));
  CHECK(got.empty());
  v1::ListResultsRequest list;
  list.set_experiment_id("y");
  CHECK(
      absl::IsNotFound(CallUnary(server.stub.get(), &v1::ResultService::Stub::List, list, absl::Seconds(60)).status()));
}

TEST_CASE("too many files at once are refused, and sent once others have ended", "[grpc]") {
  const Server server;
  server.Write("summary.json", "{}\n");
  server.Write("curves.png", "");
  // More than the transport holds for a reader that does not read.
  std::filesystem::resize_file(server.folders_.output + "/curves.png", size_t{256} << 20);
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::FetchResultResponse>> stream;
  };
  std::vector<std::unique_ptr<Call>> calls;
  v1::FetchResultResponse piece;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(std::make_unique<Call>());
    calls.back()->stream = server.stub->Fetch(&calls.back()->context, server.Whole("curves.png"));
    REQUIRE(calls.back()->stream->Read(&piece));
  }
  std::string got;
  CHECK(absl::IsUnavailable(server.Fetch(server.Whole("summary.json"), &got)));
  for (const auto& call : calls) {
    call->context.TryCancel();
    CHECK(call->stream->Finish().error_code() == grpc::StatusCode::CANCELLED);
  }
  Eventually("room for another file", [&] { return server.Fetch(server.Whole("summary.json"), &got).ok(); });
  CHECK(got == "{}\n");
}

}  // namespace
}  // namespace waggle::testing
