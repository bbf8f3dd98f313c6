#include "common/net/security/certificates.h"

#include <filesystem>

#include "absl/time/clock.h"
#include "common/base/file.h"
#include "tests/common/net/security/certificate_folders.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::MakeCertificates;
using testing::ValueOf;

absl::StatusOr<CertificateFacts> Check(const std::string& folder, absl::Time now = absl::Now()) {
  const absl::StatusOr<CertificateFiles> files = FindCertificates(folder);
  return files.ok() ? CheckCertificates(*files, now) : files.status();
}

TEST_CASE("A folder's certificate has its names, its end and a fingerprint", "[unit]") {
  const testing::TemporaryFolder folder;
  MakeCertificates(folder.path());
  const CertificateFacts facts = ValueOf(Check(folder.File("worker")));
  CHECK(facts.names == std::vector<std::string>{"worker.waggle", "server.waggle", "worker.waggle"});
  CHECK(facts.expires > absl::Now() + absl::Hours(47));
  CHECK(facts.fingerprint.size() == 64);
  CHECK(ValueOf(Check(folder.File("hub"))).fingerprint != facts.fingerprint);
}

TEST_CASE("A folder with ca.crt alone has an authority and no certificate", "[unit]") {
  const testing::TemporaryFolder folder;
  MakeCertificates(folder.path());
  const CertificateFiles files = ValueOf(FindCertificates(folder.File("ca")));
  CHECK(files.certificate.empty());
  CHECK(ValueOf(CheckCertificates(files, absl::Now())).names == std::vector<std::string>{"waggle authority"});
}

TEST_CASE("Certificates that could not work are refused, and the error names the file", "[unit]") {
  const testing::TemporaryFolder folder;
  const testing::TemporaryFolder other;
  MakeCertificates(folder.path());
  MakeCertificates(other.path());
  const std::string worker = folder.File("worker");
  const auto refused = [&](absl::Time now, absl::StatusCode code, const std::string& file) {
    const absl::StatusOr<CertificateFacts> facts = Check(worker, now);
    REQUIRE(facts.status().code() == code);
    CHECK_THAT(std::string(facts.status().message()), Catch::Contains(file));
  };
  const auto replace = [&](const std::string& file, const std::string& from) {
    std::filesystem::copy_file(from, worker + file, std::filesystem::copy_options::overwrite_existing);
  };
  SECTION("expired") {
    refused(absl::Now() + absl::Hours(49), absl::StatusCode::kFailedPrecondition, "/tls.crt");
  }
  SECTION("not valid yet") {
    refused(absl::Now() - absl::Hours(1), absl::StatusCode::kFailedPrecondition, "/tls.crt");
  }
  SECTION("of another key") {
    replace("/tls.key", folder.File("hub/tls.key"));
    refused(absl::Now(), absl::StatusCode::kFailedPrecondition, "/tls.key");
  }
  SECTION("of another authority") {
    replace("/ca.crt", other.File("ca/ca.crt"));
    refused(absl::Now(), absl::StatusCode::kFailedPrecondition, "/tls.crt");
  }
  SECTION("no certificate at all") {
    REQUIRE_OK(WriteFileAtomically(worker + "/tls.crt", "-----BEGIN CERTIFICATE-----\nnone\n"));
    refused(absl::Now(), absl::StatusCode::kFailedPrecondition, "/tls.crt");
  }
  SECTION("no key at all") {
    REQUIRE_OK(WriteFileAtomically(worker + "/tls.key", "none"));
    refused(absl::Now(), absl::StatusCode::kFailedPrecondition, "/tls.key");
  }
  SECTION("a certificate without its key") {
    std::filesystem::remove(worker + "/tls.key");
    refused(absl::Now(), absl::StatusCode::kNotFound, "/tls.key");
  }
  SECTION("no authority") {
    std::filesystem::remove(worker + "/ca.crt");
    refused(absl::Now(), absl::StatusCode::kNotFound, "/ca.crt");
  }
}

}  // namespace
}  // namespace waggle
