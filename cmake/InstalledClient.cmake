# The client library that `cmake --install` installs: find_package(Waggle) gives programs Waggle::replay_client, whose
# header is <waggle/replay.h>.

target_include_directories(waggle_replay_client PUBLIC
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/common/replay/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/waggle>")
target_compile_features(waggle_replay_client PUBLIC cxx_std_17)
set_target_properties(waggle_replay_client PROPERTIES EXPORT_NAME replay_client)

# Collects all libraries on which these depend.
function(waggle_collect_libraries target out)
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(aliased)
    set(target ${aliased})
  endif()
  if(NOT target MATCHES "^waggle_" OR target IN_LIST ${out})
    return()
  endif()
  list(APPEND ${out} ${target})
  get_target_property(dependencies ${target} INTERFACE_LINK_LIBRARIES)
  foreach(dependency IN LISTS dependencies)
    if(TARGET "${dependency}")
      waggle_collect_libraries(${dependency} ${out})
    endif()
  endforeach()
  set(${out} "${${out}}" PARENT_SCOPE)
endfunction()

set(client_libraries "")
waggle_collect_libraries(waggle_replay_client client_libraries)
install(TARGETS ${client_libraries} EXPORT WaggleTargets COMPONENT replay_client
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/waggle")

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Waggle")
install(EXPORT WaggleTargets NAMESPACE Waggle:: COMPONENT replay_client DESTINATION "${config_folder}")
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/WaggleConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_SOURCE_DIR}/cmake/WaggleConfig.cmake" "${CMAKE_BINARY_DIR}/WaggleConfigVersion.cmake"
  COMPONENT replay_client DESTINATION "${config_folder}")

# The headers that <waggle/replay.h> includes.
set(include_folder "${CMAKE_INSTALL_INCLUDEDIR}/waggle")
set(headers common/config/table/batch_layout.h common/config/table/table_config.h common/net/keepalive.h
    common/replay/blocks/row_writer.h common/replay/ports/replay.h common/replay/replay_client.h
    common/replay/replay_tables.h)
file(GLOB base_headers RELATIVE "${CMAKE_SOURCE_DIR}" CONFIGURE_DEPENDS
  common/base/*.h common/base/tensor/*.h common/base/threads/*.h)
foreach(header IN LISTS headers base_headers)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${header}" COMPONENT replay_client DESTINATION "${include_folder}/${folder}")
endforeach()
install(FILES common/replay/include/waggle/replay.h COMPONENT replay_client DESTINATION "${include_folder}")
