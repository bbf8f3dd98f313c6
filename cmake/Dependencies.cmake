# Finds every package that Waggle builds on. Debian 12's versions are the baseline; newer ones work too.

find_program(WAGGLE_CCACHE ccache)
if(WAGGLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # CCACHE_DEPEND hashes the compiler's list of read files after it has run. A result is not kept if one of these files
  # changed meanwhile: otherwise an edit during a build would leave old code under the new text's key. A checkout's
  # path, in arguments or in debug information, does not defeat the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
      "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${WAGGLE_CCACHE}")
endif()

if(WAGGLE_STATIC)
  include(StaticLibraries)
endif()
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(spdlog REQUIRED)
# Packages of executables have no use for a library of the logging code. Debian has no static one.
set(WAGGLE_LOGGING_LIBRARY spdlog::spdlog)
if(WAGGLE_HEADER_ONLY_LOGGING)
  add_library(waggle_logging INTERFACE)
  target_link_libraries(waggle_logging INTERFACE fmt::fmt-header-only)
  target_include_directories(waggle_logging SYSTEM INTERFACE
    "$<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>")
  target_compile_definitions(waggle_logging INTERFACE SPDLOG_FMT_EXTERNAL)
  set(WAGGLE_LOGGING_LIBRARY waggle_logging)
endif()
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
find_package(nlohmann_json REQUIRED)
find_path(WAGGLE_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(WAGGLE_XXHASH_LIBRARY xxhash REQUIRED)
include(CheckLibraryExists)
check_library_exists("${WAGGLE_XXHASH_LIBRARY}" XXH3_64bits_dispatch "" WAGGLE_XXHASH_DISPATCHES)
find_path(WAGGLE_LZ4_INCLUDE_DIR lz4.h REQUIRED)
find_library(WAGGLE_LZ4_LIBRARY lz4 REQUIRED)
find_path(WAGGLE_ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(WAGGLE_ZSTD_LIBRARY zstd REQUIRED)
# Debian's library has no CMake package.
find_path(WAGGLE_WEBP_INCLUDE_DIR webp/mux.h REQUIRED)
find_library(WAGGLE_WEBP_LIBRARY webp REQUIRED)
find_library(WAGGLE_WEBPMUX_LIBRARY webpmux REQUIRED)
add_library(waggle_webp INTERFACE)
target_include_directories(waggle_webp SYSTEM INTERFACE "${WAGGLE_WEBP_INCLUDE_DIR}")
target_link_libraries(waggle_webp INTERFACE "${WAGGLE_WEBPMUX_LIBRARY}" "${WAGGLE_WEBP_LIBRARY}")
find_path(WAGGLE_CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)

if(WAGGLE_WITH_GRPC)
  find_package(Protobuf REQUIRED)
  find_package(gRPC CONFIG REQUIRED)
  find_package(OpenSSL REQUIRED)
  # Its own CMake package asks for everything that its static library may need.
  find_path(WAGGLE_ROCKSDB_INCLUDE_DIR rocksdb/db.h REQUIRED)
  find_library(WAGGLE_ROCKSDB_LIBRARY rocksdb REQUIRED)
  add_library(waggle_rocksdb INTERFACE)
  target_include_directories(waggle_rocksdb SYSTEM INTERFACE "${WAGGLE_ROCKSDB_INCLUDE_DIR}")
  target_link_libraries(waggle_rocksdb INTERFACE "${WAGGLE_ROCKSDB_LIBRARY}")
  add_library(waggle_httplib INTERFACE)
  target_compile_definitions(waggle_httplib INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT)
  if(WAGGLE_STATIC)
    # Debian has a shared library alone. The source is one header, which ./dev wheels fetches.
    find_path(WAGGLE_HTTPLIB_INCLUDE_DIR httplib.h REQUIRED NO_DEFAULT_PATH PATHS "${WAGGLE_HTTPLIB_SOURCE}")
    target_link_libraries(waggle_httplib INTERFACE OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB)
  else()
    find_path(WAGGLE_HTTPLIB_INCLUDE_DIR httplib.h REQUIRED)
    find_library(WAGGLE_HTTPLIB_LIBRARY cpp-httplib REQUIRED)
    # As Debian's library is compiled, all three: they change the layout of its types.
    target_compile_definitions(waggle_httplib INTERFACE CPPHTTPLIB_BROTLI_SUPPORT)
    target_link_libraries(waggle_httplib INTERFACE "${WAGGLE_HTTPLIB_LIBRARY}")
  endif()
  target_include_directories(waggle_httplib SYSTEM INTERFACE "${WAGGLE_HTTPLIB_INCLUDE_DIR}")
  # 3.37 is the first with STRICT tables.
  find_package(SQLite3 3.37 REQUIRED)
endif()
if(WAGGLE_STATIC)
  waggle_link_static_libraries()
endif()

if(WAGGLE_WITH_TORCH)
  # WAGGLE_TORCH_ROOT links a LibTorch whose own CMake package cannot be used: PyPI's needs a CUDA toolkit. LibTorch 2.x
  # needs -DCMAKE_CXX_STANDARD=17 or, from 2.15, 20.
  set(WAGGLE_TORCH_ROOT "" CACHE PATH "A LibTorch to link by hand (the folder that has include/ and lib/)")
  add_library(waggle_torch INTERFACE)
  if(WAGGLE_TORCH_ROOT)
    target_include_directories(waggle_torch SYSTEM INTERFACE
      "${WAGGLE_TORCH_ROOT}/include" "${WAGGLE_TORCH_ROOT}/include/torch/csrc/api/include")
    target_link_directories(waggle_torch INTERFACE "${WAGGLE_TORCH_ROOT}/lib")
    target_link_libraries(waggle_torch INTERFACE "-Wl,--no-as-needed" torch torch_cpu c10)
    if(WAGGLE_STATIC)
      # For another machine: packages/CMakeLists.txt says where LibTorch is there. Its libtorch.so loads the library for
      # CUDA if it has one, and CUDA's libraries need not be here.
      target_link_options(waggle_torch INTERFACE "LINKER:--allow-shlib-undefined")
    else()
      target_link_options(waggle_torch INTERFACE "LINKER:-rpath,${WAGGLE_TORCH_ROOT}/lib")
      if(EXISTS "${WAGGLE_TORCH_ROOT}/lib/libtorch_cuda.so")
        target_link_libraries(waggle_torch INTERFACE torch_cuda c10_cuda)
      endif()
    endif()
    target_link_libraries(waggle_torch INTERFACE "-Wl,--as-needed")
  else()
    find_package(Torch REQUIRED)
    target_link_libraries(waggle_torch INTERFACE ${TORCH_LIBRARIES})
    target_include_directories(waggle_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
    # The Gloo that the distribution's LibTorch was built with. A LibTorch linked by hand has another, without headers.
    find_path(WAGGLE_GLOO_INCLUDE_DIR gloo/config.h REQUIRED)
    find_library(WAGGLE_GLOO_LIBRARY gloo REQUIRED)
    add_library(waggle_gloo INTERFACE)
    target_include_directories(waggle_gloo SYSTEM INTERFACE "${WAGGLE_GLOO_INCLUDE_DIR}")
    target_link_libraries(waggle_gloo INTERFACE "${WAGGLE_GLOO_LIBRARY}")
  endif()
endif()

# The version of LibTorch that `waggle run` writes into summary.json.
set(WAGGLE_LIBTORCH_VERSION "")
if(WAGGLE_WITH_TORCH)
  find_file(WAGGLE_TORCH_VERSION_HEADER torch/csrc/api/include/torch/version.h
    HINTS "${WAGGLE_TORCH_ROOT}/include" ${TORCH_INCLUDE_DIRS})
  if(WAGGLE_TORCH_VERSION_HEADER)
    file(STRINGS "${WAGGLE_TORCH_VERSION_HEADER}" numbers REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    list(TRANSFORM numbers REPLACE ".* " "")
    list(JOIN numbers "." WAGGLE_LIBTORCH_VERSION)
  endif()
endif()

if(WAGGLE_BUILD_TESTS)
  find_package(Catch2 REQUIRED)
  # For tests, which read what Waggle wrote.
  find_library(WAGGLE_WEBPDEMUX_LIBRARY webpdemux REQUIRED)
  add_library(waggle_webp_demux INTERFACE)
  target_link_libraries(waggle_webp_demux INTERFACE waggle_webp "${WAGGLE_WEBPDEMUX_LIBRARY}")
endif()
