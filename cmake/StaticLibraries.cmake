# For WAGGLE_STATIC: links the distribution's static libraries into the executables, all but the C library and LibTorch.
# Debian's CMake packages name shared libraries only, but their static ones lie beside them.

set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(OPENSSL_USE_STATIC_LIBS ON)
set(Protobuf_USE_STATIC_LIBS ON)

# Called once all packages are found.
function(waggle_link_static_libraries)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(library ${target} IMPORTED_LOCATION_NONE)
    if(library MATCHES "[.]so[.0-9]*$")
      string(REGEX REPLACE "[.]so[.0-9]*$" ".a" library "${library}")
      if(EXISTS "${library}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE "${library}")
      endif()
    endif()
  endforeach()
  if(TARGET re2::re2)  # gRPC finds it by pkg-config, as -lre2.
    find_library(WAGGLE_RE2_LIBRARY re2 REQUIRED)
    set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES "${WAGGLE_RE2_LIBRARY};Threads::Threads")
  endif()
  if(TARGET waggle_rocksdb)
    find_library(WAGGLE_SNAPPY_LIBRARY snappy REQUIRED)
    find_library(WAGGLE_BZ2_LIBRARY bz2 REQUIRED)
    find_library(WAGGLE_ZLIB_LIBRARY z REQUIRED)
    target_link_libraries(waggle_rocksdb INTERFACE "${WAGGLE_SNAPPY_LIBRARY}" "${WAGGLE_LZ4_LIBRARY}"
      "${WAGGLE_ZSTD_LIBRARY}" "${WAGGLE_BZ2_LIBRARY}" "${WAGGLE_ZLIB_LIBRARY}" ${CMAKE_DL_LIBS})
  endif()
  # Other libraries of the process must neither see these symbols nor replace them: LibTorch has copies of some of them.
  add_link_options("LINKER:--exclude-libs,ALL" "LINKER:-s")
  if(NOT WAGGLE_WITH_TORCH)
    # With LibTorch there is one libstdc++, because its exceptions are caught.
    add_link_options(-static-libstdc++ -static-libgcc)
  endif()
endfunction()
