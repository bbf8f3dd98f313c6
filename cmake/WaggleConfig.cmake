# find_package(Waggle): Waggle::replay_client, the C++ client of the replay server.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(absl)
find_dependency(spdlog)
find_dependency(Protobuf)
find_dependency(gRPC CONFIG)
include("${CMAKE_CURRENT_LIST_DIR}/WaggleTargets.cmake")
