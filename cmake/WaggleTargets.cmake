# The three kinds of target there are. Each folder lists its own sources.

add_library(waggle_warnings INTERFACE)
target_compile_options(waggle_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(waggle_warnings INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
if(WAGGLE_WERROR)
  # GCC 12 sees uninitialised members in std::optional where there are none.
  target_compile_options(waggle_warnings INTERFACE -Werror -Wno-error=maybe-uninitialized)
endif()

# waggle_library(NAME SOURCES … DEPS … [TORCH]): a static library waggle_NAME, alias waggle::NAME. TORCH marks one that
# includes LibTorch's headers; it shares one precompiled header with the others.
function(waggle_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(waggle_${name} STATIC ${ARG_SOURCES})
    target_include_directories(waggle_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
    target_link_libraries(waggle_${name} PUBLIC ${ARG_DEPS} PRIVATE waggle_warnings)
    if(ARG_TORCH)
      waggle_use_torch(waggle_${name})
    endif()
  else()
    add_library(waggle_${name} INTERFACE)
    target_include_directories(waggle_${name} INTERFACE "${CMAKE_SOURCE_DIR}")
    target_link_libraries(waggle_${name} INTERFACE ${ARG_DEPS})
  endif()
  add_library(waggle::${name} ALIAS waggle_${name})
endfunction()

# waggle_binary(NAME SOURCES … DEPS … [TORCH]): an installed executable.
function(waggle_binary name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} waggle_warnings)
  if(ARG_TORCH)
    waggle_use_torch(${name})
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# Precompiles torch/torch.h once for all targets that include it: it costs 20 s a file otherwise.
function(waggle_use_torch target)
  target_link_libraries(${target} PRIVATE waggle_torch)
  # gRPC's package asks for this of whoever links it; the precompiled header must be compiled alike.
  target_compile_options(${target} PRIVATE -pthread)
  if(NOT TARGET waggle_torch_header)
    file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/torch_header.cc" CONTENT "")
    add_library(waggle_torch_header STATIC "${CMAKE_BINARY_DIR}/torch_header.cc")
    target_link_libraries(waggle_torch_header PRIVATE waggle_torch Threads::Threads)
    target_compile_options(waggle_torch_header PRIVATE -pthread)
    target_precompile_headers(waggle_torch_header PRIVATE <torch/torch.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM waggle_torch_header)
endfunction()
