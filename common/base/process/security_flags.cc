#include "common/base/process/security_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "common/base/process/flags.h"
#include "common/net/security/access_file.h"

namespace waggle {
namespace {

constexpr char kTls[] = "WAGGLE_TLS";
constexpr char kServerName[] = "WAGGLE_SERVER_NAME";
constexpr char kTokenFile[] = "WAGGLE_TOKEN_FILE";
constexpr char kAccess[] = "WAGGLE_ACCESS";

}  // namespace

void AddClientSecurityFlags(CLI::App* app, SecurityOptions* options) {
  AddPathFlag(app, "--tls", &options->tls, "DIR",
              "Encrypt all connections, with the certificates of this folder: ca.crt, whose authorities are trusted, "
              "and tls.crt with tls.key, by which others know this process; see docs/security.md")
      ->envname(kTls);
  app->add_option("--server-name", options->server_name,
                  "The name that servers' certificates must have; empty: the host that is connected to")
      ->envname(kServerName)
      ->type_name("NAME")
      ->capture_default_str();
  AddPathFlag(app, "--token-file", &options->token_file, "FILE",
              "Send the token in this file with each call, in place of a certificate of this process; needs --tls")
      ->envname(kTokenFile);
}

void AddServerSecurityFlags(CLI::App* app, SecurityOptions* options) {
  AddClientSecurityFlags(app, options);
  options->load_access = &LoadAccessList;
  AddPathFlag(app, "--access", &options->access, "FILE",
              "A YAML file of callers, with their roles, the hashes of their tokens and the names in their "
              "certificates; needs --tls. By default certificates for reader.waggle, submitter.waggle, worker.waggle "
              "and admin.waggle have these roles")
      ->envname(kAccess);
  AddSwitch(app, "--insecure", &options->insecure,
            "Serve plain text to other machines too, if there is no --tls: every program that reaches the port may do "
            "everything");
}

void ForgetSecurityVariables() {
  for (const char* const name : {kTls, kServerName, kTokenFile, kAccess}) {
    unsetenv(name);
  }
}

}  // namespace waggle
