#pragma once

#include <openssl/x509.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace waggle {

// The files of a folder with certificates, named as cert-manager and Kubernetes name them. All are in PEM.
struct CertificateFiles {
  std::string authorities;  // ca.crt: whose certificates are trusted.
  std::string certificate;  // tls.crt: the process's own, with the chain to an authority. Empty: it has none.
  std::string key;          // tls.key: of the certificate. Empty: as above.
};

// A certificate of a process, in words.
struct CertificateFacts {
  std::vector<std::string> names;  // DNS names, URIs and the common name.
  absl::Time expires;
  std::string fingerprint;  // SHA-256, in hexadecimal digits.
};

// The paths of a folder's files. tls.crt and tls.key are empty if neither is there. NOT_FOUND if ca.crt, or one of
// those two, is missing.
absl::StatusOr<CertificateFiles> FindCertificates(const std::string& folder);

// The DNS names, URIs and the common name of a certificate.
std::vector<std::string> NamesOf(X509* certificate);

// Reads and checks the files: FAILED_PRECONDITION if one is not PEM, the key is not the certificate's, the certificate
// is expired or not valid yet, or no authority of ca.crt has signed it. Without a certificate the facts are those of
// the first authority. Thread-safe.
absl::StatusOr<CertificateFacts> CheckCertificates(const CertificateFiles& files, absl::Time now);

}  // namespace waggle
