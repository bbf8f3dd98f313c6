# For the preset deb: `cpack -G DEB` makes waggle_VERSION_ARCHITECTURE.deb and waggle-worker_VERSION_ARCHITECTURE.deb, of
# the components waggle and worker. Their libraries are those of the Debian that they are built on.

set(WAGGLE_MAINTAINER "The Waggle authors <waggle@example.org>" CACHE STRING "The maintainer that Debian packages name")

set(debian "${PROJECT_SOURCE_DIR}/packages/debian")
set(units_of_waggle waggle-hub waggle-replay-server)
set(units_of_worker waggle-learner waggle-actor waggle-evaluator)
set(folders_of_waggle hub replay experiments)
set(folders_of_worker experiments)

# One executable under the name of its first program, and links under the others'.
install(PROGRAMS "$<TARGET_FILE:waggle-multicall>" COMPONENT waggle DESTINATION bin RENAME waggle)
install(PROGRAMS "$<TARGET_FILE:waggle-worker>" COMPONENT worker DESTINATION bin RENAME waggle-learner)
set(links "${CMAKE_CURRENT_BINARY_DIR}/links")
file(MAKE_DIRECTORY "${links}")
file(CREATE_LINK waggle "${links}/waggle-param-server" SYMBOLIC)
file(CREATE_LINK waggle "${links}/waggle-replay-server" SYMBOLIC)
file(CREATE_LINK waggle-learner "${links}/waggle-actor" SYMBOLIC)
install(FILES "${links}/waggle-param-server" "${links}/waggle-replay-server" COMPONENT waggle DESTINATION bin)
install(FILES "${links}/waggle-actor" COMPONENT worker DESTINATION bin)

foreach(component waggle worker)
  set(units ${units_of_${component}})
  list(TRANSFORM units APPEND .service OUTPUT_VARIABLE unit_files)
  list(TRANSFORM unit_files PREPEND "${debian}/units/")
  install(FILES ${unit_files} COMPONENT ${component} DESTINATION lib/systemd/system)

  # dpkg runs these when a package is installed and removed.
  list(TRANSFORM units APPEND .service)
  list(JOIN units " " UNITS)
  list(GET units_of_${component} 1 TEMPLATE)  # waggle-actor; the package waggle has no instances.
  list(JOIN folders_of_${component} " " FOLDERS)
  set(scripts "${CMAKE_CURRENT_BINARY_DIR}/${component}_scripts")
  set(control "")
  foreach(script postinst prerm postrm)
    configure_file("${debian}/${script}.in" "${scripts}/${script}" @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    list(APPEND control "${scripts}/${script}")
  endforeach()
  if(component STREQUAL waggle)
    file(WRITE "${scripts}/conffiles" "/etc/default/waggle\n")
    list(APPEND control "${scripts}/conffiles")
  endif()
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}")
endforeach()
# Any number of actors: waggle-actor@1, waggle-actor@2, …
install(FILES "${debian}/units/waggle-actor.service" COMPONENT worker DESTINATION lib/systemd/system
  RENAME "waggle-actor@.service")
install(FILES "${debian}/default" COMPONENT waggle DESTINATION /etc/default RENAME waggle)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" COMPONENT waggle DESTINATION share/doc/waggle RENAME copyright)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" COMPONENT worker DESTINATION share/doc/waggle-worker RENAME copyright
 )

install(FILES "${printed_folder}/waggle" COMPONENT waggle DESTINATION share/bash-completion/completions)
install(FILES "${printed_folder}/_waggle" COMPONENT waggle DESTINATION share/zsh/vendor-completions)
install(FILES "${printed_folder}/waggle.fish" COMPONENT waggle DESTINATION share/fish/vendor_completions.d)
foreach(program IN LISTS manual)
  set(component waggle)
  if(program MATCHES "learner|actor")
    set(component worker)
  endif()
  install(FILES "${printed_folder}/${program}.1.gz" COMPONENT ${component} DESTINATION share/man/man1)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME waggle)
set(CPACK_PACKAGE_CONTACT "${WAGGLE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_COMPONENTS_ALL waggle worker)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_WAGGLE_PACKAGE_NAME waggle)
set(CPACK_COMPONENT_WAGGLE_DESCRIPTION "distributed actor-learner training: command, hub, replay server
 The command waggle, the parameter server that experiments are submitted to, and the replay server. They need no tensor
 library.")
set(CPACK_DEBIAN_WAGGLE_PACKAGE_RECOMMENDS "python3")
set(CPACK_DEBIAN_WAGGLE_PACKAGE_SUGGESTS "waggle-worker, python3-matplotlib")
set(CPACK_DEBIAN_WORKER_PACKAGE_NAME waggle-worker)
set(CPACK_COMPONENT_WORKER_DESCRIPTION "distributed actor-learner training: learner and actor
 The programs that step environments and train networks, by LibTorch.")
# LibTorch is several times faster with this library of matrix products than with the reference one.
set(CPACK_DEBIAN_WORKER_PACKAGE_DEPENDS "waggle (= ${PROJECT_VERSION}), libopenblas0-openmp")
include(CPack)
