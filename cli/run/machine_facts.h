#pragma once

#include <string>

namespace waggle {

// This machine in a few words: "AMD EPYC 9654, 16 cores, 128.0 GiB, NVIDIA H200". Parts that the system does not tell
// are left out.
std::string MachineFacts();

}  // namespace waggle
