#pragma once

#include "common/net/security/security_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace waggle {

// Adds --tls DIR, --server-name NAME and --token-file FILE, which WAGGLE_TLS, WAGGLE_SERVER_NAME and WAGGLE_TOKEN_FILE
// can replace: for programs that connect to servers.
void AddClientSecurityFlags(CLI::App* app, SecurityOptions* options);

// Adds those, --access FILE, which WAGGLE_ACCESS can replace, and --insecure: for programs that serve.
void AddServerSecurityFlags(CLI::App* app, SecurityOptions* options);

// Removes those variables from the environment of this process's children, which connect on this machine alone.
void ForgetSecurityVariables();

}  // namespace waggle
