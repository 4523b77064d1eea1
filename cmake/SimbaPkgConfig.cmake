# simba_install_pkg_config(<part>) installs simba-<part>.pc, and
# simba_install_pkg_config_umbrella(<part>...) installs simba.pc, which stands for all of them.

# How the linker calls what parts link. Flags, not modules: a user's compiler then sees nothing of
# these libraries, and not all of them have a module.
set(SIMBA_LINK_FLAGS
  "Threads::Threads=-pthread"
  "fmt::fmt=-lfmt"
  "spdlog::spdlog=-lspdlog"
  "date::date-tz=-ldate-tz"
  "SQLite::SQLite3=-lsqlite3"
  "PostgreSQL::PostgreSQL=-lpq"
  "MariaDB::client=-lmariadb"
  "hiredis::hiredis=-lhiredis"
  "OpenSSL::SSL=-lssl"
  "OpenSSL::Crypto=-lcrypto"
  "ZooKeeper::mt=-lzookeeper_mt"
  "yaml-cpp=-lyaml-cpp")

# What parts show of other libraries in their headers: modules of pkg-config.
set(SIMBA_PUBLIC_MODULES "prometheus-cpp::core=prometheus-cpp-core")

function(simba_link_flag target result)
  foreach(entry IN LISTS SIMBA_LINK_FLAGS)
    string(FIND "${entry}" "${target}=" position)
    if(position EQUAL 0)
      string(REPLACE "${target}=" "" flag "${entry}")
      set(${result} "${flag}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "simba: cmake/SimbaPkgConfig.cmake does not know how to link ${target}")
endfunction()

# Writes and installs one file from the variables SIMBA_PC_...
function(simba_write_pkg_config name)
  set(SIMBA_PC_NAME ${name})
  # The files find their prefix from where they are.
  file(RELATIVE_PATH SIMBA_PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  set(file "${PROJECT_BINARY_DIR}/package/${name}.pc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/simba-part.pc.in" "${file}" @ONLY)
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endfunction()

function(simba_install_pkg_config part)
  get_target_property(needs_parts simba_${part} SIMBA_NEEDS_PARTS)
  get_target_property(public_link simba_${part} INTERFACE_LINK_LIBRARIES)
  get_target_property(private_link simba_${part} SIMBA_PRIVATE_LINK)
  set(public)
  set(private)
  foreach(needed IN LISTS needs_parts)
    if("simba::${needed}" IN_LIST public_link)
      list(APPEND public simba-${needed})
    else()
      list(APPEND private simba-${needed})
    endif()
  endforeach()
  foreach(entry IN LISTS SIMBA_PUBLIC_MODULES)
    string(REGEX MATCH "^(.*)=(.*)$" matched "${entry}")
    if(CMAKE_MATCH_1 IN_LIST public_link)
      list(APPEND public ${CMAKE_MATCH_2})
    endif()
  endforeach()
  set(flags)
  foreach(library IN LISTS private_link)
    simba_link_flag(${library} flag)
    list(APPEND flags ${flag})
  endforeach()
  list(JOIN public ", " SIMBA_PC_REQUIRES)
  list(JOIN private ", " SIMBA_PC_REQUIRES_PRIVATE)
  list(JOIN flags " " SIMBA_PC_LIBS_PRIVATE)
  set(SIMBA_PC_CFLAGS "-I\${includedir}")
  set(SIMBA_PC_LIBS "-L\${libdir} -lsimba-${part}")
  simba_write_pkg_config(simba-${part})
endfunction()

function(simba_install_pkg_config_umbrella)
  list(TRANSFORM ARGN PREPEND simba-)
  list(JOIN ARGN ", " SIMBA_PC_REQUIRES)
  simba_write_pkg_config(simba)
endfunction()
