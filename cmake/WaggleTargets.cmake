# The kinds of targets. Each folder lists its own sources.

add_library(waggle_warnings INTERFACE)
target_compile_options(waggle_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(waggle_warnings INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
if(WAGGLE_WERROR)
  # GCC 12 wrongly reports uninitialised members in std::optional.
  target_compile_options(waggle_warnings INTERFACE -Werror -Wno-error=maybe-uninitialized)
endif()

# If CMAKE_UNITY_BUILD is on, sources of a target are compiled in groups, so that their headers are read once: see
# unity_groups.py. Sources of other folders are compiled alone.
function(waggle_group_sources target)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  set(own ${ARGN})
  list(FILTER own INCLUDE REGEX "^[^./$].*[.]cc$")
  set_property(GLOBAL APPEND_STRING PROPERTY WAGGLE_GROUPED "${target};${CMAKE_CURRENT_SOURCE_DIR};${own}\n")
endfunction()

# Must be called after all targets are defined.
function(waggle_finish_groups)
  get_property(targets GLOBAL PROPERTY WAGGLE_GROUPED)
  if(NOT targets)
    return()
  endif()
  file(WRITE "${CMAKE_BINARY_DIR}/unity_targets" "${targets}")
  execute_process(COMMAND python3 "${CMAKE_SOURCE_DIR}/cmake/unity_groups.py" 2000
    INPUT_FILE "${CMAKE_BINARY_DIR}/unity_targets" OUTPUT_VARIABLE grouped COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "," grouped "${grouped}")
  string(REPLACE "\n" ";" grouped "${grouped}")
  foreach(line IN LISTS grouped)
    if(line MATCHES "^([^,]+),([^,]+),([^,]+)$")
      set_source_files_properties("${CMAKE_MATCH_2}" TARGET_DIRECTORY ${CMAKE_MATCH_1}
        PROPERTIES UNITY_GROUP "${CMAKE_MATCH_1}_${CMAKE_MATCH_3}")
    endif()
  endforeach()
endfunction()

# For code that runs once at a start, or once a second: optimizing it takes as long as compiling it.
function(waggle_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# waggle_library(NAME SOURCES … DEPS … [TORCH | GRPC] [COLD]): a static library waggle_NAME, alias waggle::NAME. TORCH
# and GRPC mark targets that include the headers of LibTorch or gRPC; targets with the same mark share a precompiled
# header. COLD marks targets that must compile quickly rather than run fast.
function(waggle_library name)
  cmake_parse_arguments(ARG "TORCH;GRPC;COLD" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(waggle_${name} STATIC ${ARG_SOURCES})
    waggle_group_sources(waggle_${name} ${ARG_SOURCES})
    target_include_directories(waggle_${name} PUBLIC "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>")
    target_link_libraries(waggle_${name} PUBLIC ${ARG_DEPS} PRIVATE "$<BUILD_INTERFACE:waggle_warnings>")
    waggle_precompile(waggle_${name} "${ARG_TORCH}" "${ARG_GRPC}")
    if(ARG_COLD)
      waggle_compile_quickly(waggle_${name})
    endif()
  else()
    add_library(waggle_${name} INTERFACE)
    target_include_directories(waggle_${name} INTERFACE "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>")
    target_link_libraries(waggle_${name} INTERFACE ${ARG_DEPS})
  endif()
  add_library(waggle::${name} ALIAS waggle_${name})
endfunction()

# waggle_binary(NAME MAIN FUNCTION SOURCES … DEPS … [TORCH | GRPC]): an installed executable. Its own sources only connect
# the parts; they define `int FUNCTION(int argc, char** argv)`, so that waggle_multicall can put several such
# executables into one. They are the library waggle_FUNCTION.
function(waggle_binary name)
  cmake_parse_arguments(ARG "TORCH;GRPC" "MAIN" "SOURCES;DEPS" ${ARGN})
  set(kind "")
  if(ARG_TORCH)
    set(kind TORCH)
  elseif(ARG_GRPC)
    set(kind GRPC)
  endif()
  waggle_library(${ARG_MAIN} COLD ${kind} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS})
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${ARG_MAIN}.cc" @ONLY CONTENT [[
int @ARG_MAIN@(int argc, char** argv);
int main(int argc, char** argv) {
  return @ARG_MAIN@(argc, argv);
}
]])
  add_executable(${name} "${CMAKE_CURRENT_BINARY_DIR}/${ARG_MAIN}.cc")
  target_link_libraries(${name} PRIVATE waggle_${ARG_MAIN} waggle_warnings)
  if(NOT WAGGLE_DEBIAN_PACKAGES)  # Those have several programs in one executable.
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
  set_property(GLOBAL PROPERTY WAGGLE_MAIN_OF_${name} ${ARG_MAIN})
endfunction()

# waggle_multicall(NAME PROGRAMS …): one executable that is all of these, which waggle_binary defined. It becomes the one
# that the name by which it is called, or the first argument, says.
function(waggle_multicall name)
  cmake_parse_arguments(ARG "" "" "PROGRAMS" ${ARGN})
  set(declarations "")
  set(programs "")
  set(libraries "")
  foreach(program IN LISTS ARG_PROGRAMS)
    get_property(function GLOBAL PROPERTY WAGGLE_MAIN_OF_${program})
    list(APPEND libraries waggle_${function})
    string(APPEND declarations "int ${function}(int argc, char** argv);\n")
    string(APPEND programs "      {\"${program}\", &${function}},\n")
  endforeach()
  configure_file("${CMAKE_SOURCE_DIR}/cmake/multicall_main.cc.in" "${CMAKE_CURRENT_BINARY_DIR}/${name}_multicall.cc" @ONLY)
  add_executable(${name} "${CMAKE_CURRENT_BINARY_DIR}/${name}_multicall.cc")
  target_link_libraries(${name} PRIVATE ${libraries} waggle::process waggle_warnings)
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

function(waggle_precompile target torch grpc)
  if(torch)
    waggle_use_torch(${target})
  elseif(grpc)
    waggle_use_grpc(${target})
  endif()
endfunction()

# Headers that cost each file seconds are precompiled once for all targets that include them: LibTorch's cost 20 s,
# those of gRPC and of the generated messages 3 s, Catch's 1 s. All are third-party headers, named in the usual way: the
# result is equal in every checkout, and the compiler's cache serves all of them.
set(waggle_common_headers "<algorithm>" "<functional>" "<map>" "<memory>" "<optional>" "<string>" "<vector>"
    "<absl/status/statusor.h>" "<absl/strings/str_cat.h>" "<absl/strings/str_join.h>" "<absl/time/time.h>")
set(waggle_grpc_headers ${waggle_common_headers} "<grpcpp/grpcpp.h>" "<grpcpp/generic/generic_stub.h>"
    "<waggle/v1/model.grpc.pb.h>" "<waggle/v1/replay.grpc.pb.h>" "<waggle/v1/worker.grpc.pb.h>")

function(waggle_use_torch target)  # The headers that common/nn/torch.h includes.
  target_link_libraries(${target} PRIVATE waggle_torch)
  set_target_properties(${target} PROPERTIES CXX_STANDARD ${WAGGLE_TORCH_CXX_STANDARD})
  waggle_reuse_header(${target} torch "<torch/cuda.h>;<torch/types.h>;<torch/utils.h>;<torch/version.h>" waggle_torch)
endfunction()

function(waggle_use_grpc target)
  waggle_reuse_header(${target} grpc "${waggle_grpc_headers}" waggle_proto_grpc)
endfunction()

function(waggle_use_catch target grpc)  # For a test program.
  set(catch "<catch2/catch.hpp>")
  if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
    set(catch "<catch2/catch_all.hpp>")
  endif()
  if(grpc)
    waggle_reuse_header(${target} grpc_test "${waggle_grpc_headers};${catch}" "waggle_proto_grpc;Catch2::Catch2")
  else()
    waggle_reuse_header(${target} test "${waggle_common_headers};${catch}" "absl::statusor;absl::strings;absl::time;Catch2::Catch2")
  endif()
endfunction()

function(waggle_reuse_header target name headers libraries)
  set(holder waggle_${name}_header)
  # gRPC's package requires -pthread of its users; a precompiled header must be compiled with it too.
  target_compile_options(${target} PRIVATE -pthread)
  if(NOT TARGET ${holder})
    file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/${name}_header.cc" CONTENT "")
    add_library(${holder} STATIC "${CMAKE_BINARY_DIR}/${name}_header.cc")
    target_link_libraries(${holder} PRIVATE ${libraries} Threads::Threads)
    target_include_directories(${holder} PRIVATE "${CMAKE_SOURCE_DIR}")
    target_compile_options(${holder} PRIVATE -pthread)
    get_target_property(standard ${target} CXX_STANDARD)
    set_target_properties(${holder} PROPERTIES CXX_STANDARD ${standard})
    target_precompile_headers(${holder} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()
