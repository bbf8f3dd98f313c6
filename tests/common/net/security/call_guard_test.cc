#include "common/net/security/call_guard.h"

#include <google/protobuf/descriptor.h>

#include <iostream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/net/security/method_access.h"
#include "tests/support/catch.h"
#include "waggle/v1/experiment.grpc.pb.h"
#include "waggle/v1/gradient.grpc.pb.h"
#include "waggle/v1/inference.grpc.pb.h"
#include "waggle/v1/model.grpc.pb.h"
#include "waggle/v1/pool.grpc.pb.h"
#include "waggle/v1/replay.grpc.pb.h"
#include "waggle/v1/results.grpc.pb.h"
#include "waggle/v1/store.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle {
namespace {

constexpr char kSubmit[] = "/waggle.v1.ExperimentService/Submit";
constexpr char kCheck[] = "/grpc.health.v1.Health/Check";

AccessList Callers() {
  AccessList list;
  REQUIRE_OK(list.Add({"ann", AccessRole::kSubmitter}, {TokenHash("anns")}, {}));
  REQUIRE_OK(list.Add({"eval", AccessRole::kReader}, {}, {"eval.example"}));
  return list;
}

std::vector<std::string> MethodsOf(const google::protobuf::FileDescriptor* file) {
  std::vector<std::string> paths;
  for (int i = 0; i < file->service_count(); ++i) {
    for (int j = 0; j < file->service(i)->method_count(); ++j) {
      paths.push_back(absl::StrCat("/", file->service(i)->full_name(), "/", file->service(i)->method(j)->name()));
    }
  }
  return paths;
}

// Every method of Waggle's protos.
std::vector<std::string> AllMethods() {
  std::vector<std::string> paths;
  for (const google::protobuf::FileDescriptor* const file :
       {v1::SubmitRequest::descriptor()->file(), v1::PushGradientRequest::descriptor()->file(),
        v1::ActRequest::descriptor()->file(), v1::PushModelRequest::descriptor()->file(),
        v1::AttendRequest::descriptor()->file(), v1::InsertRequest::descriptor()->file(),
        v1::FetchResultRequest::descriptor()->file(), v1::SetKeyRequest::descriptor()->file(),
        v1::JoinRequest::descriptor()->file()}) {
    for (std::string& path : MethodsOf(file)) {
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

TEST_CASE("Each method of the protos has a row, and the table of methods and roles is as printed", "[unit]") {
  std::set<std::string> rows;
  for (const MethodAccess& method : MethodTable()) {
    CHECK(rows.insert(std::string(method.path)).second);
    CHECK((method.anyone || !method.roles.empty()));
  }
  const std::vector<std::string> methods = AllMethods();
  CHECK(methods.size() >= 45);  // AllMethods finds the files of all services.
  const AccessList list;
  std::string matrix = absl::StrFormat("%-46s reader  submitter  worker  admin\n", "method");
  for (const std::string& path : methods) {
    INFO(path);
    REQUIRE(rows.count(path) == 1);
    absl::StrAppend(&matrix, absl::StrFormat("%-46s", path.substr(std::string("/waggle.v1.").size())));
    for (const AccessRole role : kAllAccessRoles) {
      SecurityRefusals refusals;
      CallFacts call;
      call.path = path;
      call.certificate_names = {absl::StrCat(AccessRoleName(role), ".waggle")};
      const absl::StatusOr<Caller> caller = LetIn(call, list, &refusals);
      const bool may = role == AccessRole::kAdmin || FindMethod(path)->roles.Has(role);
      CHECK(caller.status().code() == (may ? absl::StatusCode::kOk : absl::StatusCode::kPermissionDenied));
      CHECK(refusals.count(SecurityRefusals::kRole) == (may ? 0 : 1));
      absl::StrAppend(&matrix, absl::StrFormat(" %-8s", may ? "yes" : "-"));
    }
    matrix += "\n";
  }
  std::cout << matrix << std::flush;
  // Callers that only read change nothing.
  for (const char* const change :
       {"Submit", "Stop", "Delete", "Set", "Insert", "Push", "Join", "Reconfigure", "Clear"}) {
    for (const MethodAccess& method : MethodTable()) {
      if (absl::StrCat("/", change) == method.path.substr(method.path.rfind('/'))) {
        CHECK_FALSE(method.roles.Has(AccessRole::kReader));
      }
    }
  }
}

TEST_CASE("A call is let in by its token or its certificate, and refusals are counted", "[unit]") {
  const AccessList list = Callers();
  struct Case {
    CallFacts call;
    absl::StatusCode code;
    std::string caller;
    std::optional<SecurityRefusals::Reason> reason;
  };
  const Case cases[] = {
      {{kSubmit, "Bearer anns", {}}, absl::StatusCode::kOk, "ann", {}},
      // A person's token counts, whatever the machine's certificate says.
      {{kSubmit, "Bearer anns", {"reader.waggle"}}, absl::StatusCode::kOk, "ann", {}},
      {{kSubmit, "Bearer bobs", {"admin.waggle"}},
       absl::StatusCode::kUnauthenticated,
       "",
       SecurityRefusals::kUnknownToken},
      {{kSubmit, "anns", {}}, absl::StatusCode::kUnauthenticated, "", SecurityRefusals::kUnknownToken},
      {{kSubmit, "Basic anns", {}}, absl::StatusCode::kUnauthenticated, "", SecurityRefusals::kUnknownToken},
      {{kSubmit, "", {}}, absl::StatusCode::kUnauthenticated, "", SecurityRefusals::kNoCaller},
      {{kSubmit, "", {"server.waggle"}}, absl::StatusCode::kUnauthenticated, "", SecurityRefusals::kUnknownCertificate},
      {{kSubmit, "", {"eval.example"}}, absl::StatusCode::kPermissionDenied, "", SecurityRefusals::kRole},
      {{"/waggle.v1.ExperimentService/List", "", {"eval.example"}}, absl::StatusCode::kOk, "eval", {}},
      {{"/waggle.v1.ExperimentService/Sing", "", {"admin.waggle"}},
       absl::StatusCode::kUnimplemented,
       "",
       SecurityRefusals::kUnknownMethod},
      {{"", "", {"admin.waggle"}}, absl::StatusCode::kUnimplemented, "", SecurityRefusals::kUnknownMethod},
      {{kCheck, "", {}}, absl::StatusCode::kOk, "", {}},
      {{kCheck, "Bearer bobs", {}}, absl::StatusCode::kUnauthenticated, "", SecurityRefusals::kUnknownToken},
  };
  for (const Case& one : cases) {
    INFO(one.call.path << " " << one.call.authorization);
    SecurityRefusals refusals;
    const absl::StatusOr<Caller> caller = LetIn(one.call, list, &refusals);
    REQUIRE(caller.status().code() == one.code);
    CHECK((caller.ok() ? caller->name : "") == one.caller);
    for (int reason = 0; reason < SecurityRefusals::kReasons; ++reason) {
      CHECK(refusals.count(static_cast<SecurityRefusals::Reason>(reason)) == (one.reason == reason ? 1 : 0));
    }
    CHECK_THAT(std::string(caller.status().message()), !Catch::Contains("bobs"));
  }
}

}  // namespace
}  // namespace waggle
