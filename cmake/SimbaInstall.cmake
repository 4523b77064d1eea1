# cmake --install: libraries, headers, a package for find_package(simba COMPONENTS ...) and files for
# pkg-config. The install components are those that Debian's packages are made of: "libraries" (shared
# ones), "development" and "command".
include(CMakePackageConfigHelpers)
include(SimbaPkgConfig)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/simba")

get_property(SIMBA_PARTS GLOBAL PROPERTY SIMBA_PARTS)
get_property(SIMBA_UMBRELLA_PARTS GLOBAL PROPERTY SIMBA_UMBRELLA_PARTS)

foreach(part IN LISTS SIMBA_PARTS)
  install(TARGETS simba_${part} EXPORT simba-${part}-targets
    ARCHIVE COMPONENT development
    LIBRARY COMPONENT libraries NAMELINK_COMPONENT development
    FILE_SET HEADERS COMPONENT development)
  install(EXPORT simba-${part}-targets NAMESPACE simba:: DESTINATION "${package_dir}"
    COMPONENT development)

  # simba-<part>.cmake: first what the part needs, then its targets.
  get_target_property(packages simba_${part} SIMBA_PACKAGES)
  get_target_property(needs_parts simba_${part} SIMBA_NEEDS_PARTS)
  set(content "if(TARGET simba::${part})\n  return()\nendif()\n")
  foreach(package IN LISTS packages)
    string(APPEND content "find_dependency(${package})\n")
  endforeach()
  foreach(needed IN LISTS needs_parts)
    string(APPEND content "include(\"\${CMAKE_CURRENT_LIST_DIR}/simba-${needed}.cmake\")\n")
  endforeach()
  string(APPEND content "include(\"\${CMAKE_CURRENT_LIST_DIR}/simba-${part}-targets.cmake\")\n")
  file(CONFIGURE OUTPUT "package/simba-${part}.cmake" CONTENT "${content}" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/package/simba-${part}.cmake" DESTINATION "${package_dir}"
    COMPONENT development)
endforeach()

# Headers include it inside a namespace: on its own, as CMake checks those of a file set, it does not
# compile.
install(FILES include/simba/client/asio_functions.ipp
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/simba/client" COMPONENT development)

foreach(part IN LISTS SIMBA_UMBRELLA_PARTS)
  simba_install_pkg_config(${part})
endforeach()
if(TARGET simba_prometheus)
  simba_install_pkg_config(prometheus)
endif()
simba_install_pkg_config_umbrella(${SIMBA_UMBRELLA_PARTS})

configure_package_config_file(cmake/simbaConfig.cmake.in package/simbaConfig.cmake
  INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(package/simbaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/simbaConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/simbaConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT development)
# For a user who links the static parts.
install(FILES cmake/FindMariaDB.cmake cmake/FindHiredis.cmake cmake/FindZooKeeper.cmake
  DESTINATION "${package_dir}" COMPONENT development)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development)
include(SimbaPackage)
