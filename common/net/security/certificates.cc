#include "common/net/security/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr size_t kMaxPemBytes = size_t{1} << 20;

template <class T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* object) const { kFree(object); }
};
using Certificate = std::unique_ptr<X509, Freer<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;
using Store = std::unique_ptr<X509_STORE, Freer<X509_STORE, X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX, X509_STORE_CTX_free>>;
struct BioFreer {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioFreer>;

absl::Status Wrong(const std::string& file, absl::string_view got, absl::string_view wanted) {
  ERR_clear_error();
  return absl::FailedPreconditionError(absl::StrCat(file, ": got ", got, "; wanted ", wanted));
}

absl::StatusOr<Bio> ReadPem(const std::string& file) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file, kMaxPemBytes));
  Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || BIO_write(bio.get(), text.data(), static_cast<int>(text.size())) < 0) {
    return absl::InternalError("OpenSSL reads no text");
  }
  return bio;
}

// All certificates of a file; at least one.
absl::StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& file) {
  WAGGLE_ASSIGN_OR_RETURN(const Bio bio, ReadPem(file));
  std::vector<Certificate> certificates;
  while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
  }
  ERR_clear_error();  // The end of the text is an error too.
  if (certificates.empty()) {
    return Wrong(file, "no certificate", "certificates in PEM");
  }
  return certificates;
}

// Keys with a passphrase are refused: no person types it when a service starts.
absl::StatusOr<Key> ReadKey(const std::string& file) {
  WAGGLE_ASSIGN_OR_RETURN(const Bio bio, ReadPem(file));
  const auto no_passphrase = [](char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) { return -1; };
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    return Wrong(file, "no key", "a private key in PEM, without a passphrase");
  }
  return key;
}

std::string TextOf(const ASN1_STRING* text) {
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                     static_cast<size_t>(ASN1_STRING_length(text)));
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts = {};
  ASN1_TIME_to_tm(time, &parts);
  return absl::FromTM(parts, absl::UTCTimeZone());
}

CertificateFacts FactsOf(X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  X509_digest(certificate, EVP_sha256(), digest, &size);
  return {NamesOf(certificate), ToTime(X509_get0_notAfter(certificate)),
          absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size))};
}

absl::Status CheckTimes(const std::string& file, X509* certificate, absl::Time now) {
  const absl::Time begins = ToTime(X509_get0_notBefore(certificate));
  const absl::Time expires = ToTime(X509_get0_notAfter(certificate));
  if (now >= expires) {
    return Wrong(file, absl::StrCat("a certificate that expired at ", absl::FormatTime(expires, absl::UTCTimeZone())),
                 "one that is valid now");
  }
  if (now < begins) {
    return Wrong(file, absl::StrCat("a certificate that is valid from ", absl::FormatTime(begins, absl::UTCTimeZone())),
                 "one that is valid now; is this machine's clock right?");
  }
  return absl::OkStatus();
}

absl::Status CheckChain(const CertificateFiles& files, const std::vector<Certificate>& chain,
                        const std::vector<Certificate>& authorities) {
  const Store store(X509_STORE_new());
  for (const Certificate& authority : authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  STACK_OF(X509)* const between = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) {
    sk_X509_push(between, chain[i].get());
  }
  const Verification verification(X509_STORE_CTX_new());
  X509_STORE_CTX_init(verification.get(), store.get(), chain[0].get(), between);
  const bool is_right = X509_verify_cert(verification.get()) == 1;
  const std::string why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification.get()));
  sk_X509_free(between);
  return is_right ? absl::OkStatus()
                  : Wrong(files.certificate, absl::StrCat("a certificate that is not trusted (", why, ")"),
                          absl::StrCat("one that an authority of ", files.authorities, " has signed"));
}

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

}  // namespace

std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> names;
  if (auto* const alternatives =
          static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
      alternatives != nullptr) {
    for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
      const GENERAL_NAME* const name = sk_GENERAL_NAME_value(alternatives, i);
      if (name->type == GEN_DNS || name->type == GEN_URI) {
        names.push_back(TextOf(name->type == GEN_DNS ? name->d.dNSName : name->d.uniformResourceIdentifier));
      }
    }
    GENERAL_NAMES_free(alternatives);
  }
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  if (const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1); place >= 0) {
    names.push_back(TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place))));
  }
  return names;
}

absl::StatusOr<CertificateFiles> FindCertificates(const std::string& folder) {
  CertificateFiles files{folder + "/ca.crt", folder + "/tls.crt", folder + "/tls.key"};
  if (!Exists(files.authorities)) {
    return FileError(ENOENT, files.authorities, "read");
  }
  if (Exists(files.certificate) != Exists(files.key)) {
    return FileError(ENOENT, Exists(files.key) ? files.certificate : files.key, "read");
  }
  if (!Exists(files.key)) {
    files.certificate.clear();
    files.key.clear();
  }
  return files;
}

absl::StatusOr<CertificateFacts> CheckCertificates(const CertificateFiles& files, absl::Time now) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities, ReadCertificates(files.authorities));
  if (files.certificate.empty()) {
    return FactsOf(authorities[0].get());
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<Certificate> chain, ReadCertificates(files.certificate));
  WAGGLE_ASSIGN_OR_RETURN(const Key key, ReadKey(files.key));
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    return Wrong(files.key, "the key of another certificate", absl::StrCat("the key of ", files.certificate));
  }
  WAGGLE_RETURN_IF_ERROR(CheckTimes(files.certificate, chain[0].get(), now));
  WAGGLE_RETURN_IF_ERROR(CheckChain(files, chain, authorities));
  return FactsOf(chain[0].get());
}

}  // namespace waggle
