# cpack makes Debian's packages, out of the install components of the same meaning:
#
#   simba          the command, its manual and completions, and the schemas of the SQL stores
#   libsimba-dev   headers, archives or links to shared libraries, CMake's package and pkg-config's
#   libsimba<so>   the shared libraries, with BUILD_SHARED_LIBS
#
# What is to be given to others: cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr, then build, and
# cpack --config build/release/CPackConfig.cmake.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME simba)
set(CPACK_PACKAGE_CONTACT "The authors of Simba for C++ <simba@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES TRUE)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/DebianFiles.cmake")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL command development)
if(BUILD_SHARED_LIBS)
  list(APPEND CPACK_COMPONENTS_ALL libraries)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)

set(library_package libsimba${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(same_libraries)
if(BUILD_SHARED_LIBS)
  set(same_libraries "${library_package} (= ${PROJECT_VERSION})")
endif()

# The command and the shared libraries depend on what they are linked with.
find_program(SIMBA_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(SIMBA_DPKG_SHLIBDEPS)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME simba)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "${same_libraries}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS tzdata)  # for the zones of schedules
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "The command simba.")
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME ${library_package})
set(CPACK_COMPONENT_LIBRARIES_DESCRIPTION "The shared libraries.")
if(SIMBA_DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SHLIBDEPS ON)
  # Ours are named above; here they are only to be found.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
endif()

# Archives need the libraries behind them when a program is linked.
set(SIMBA_DEBIAN_PACKAGES
  "fmt=libfmt-dev" "spdlog=libspdlog-dev" "date=libhowardhinnant-date-dev"
  "SQLite3=libsqlite3-dev" "PostgreSQL=libpq-dev"
  "MariaDB=libmariadb-dev" "Hiredis=libhiredis-dev" "OpenSSL=libssl-dev"
  "ZooKeeper=libzookeeper-mt-dev" "yaml-cpp=libyaml-cpp-dev" "Threads=")
set(depends ${same_libraries})
foreach(part IN LISTS SIMBA_UMBRELLA_PARTS)
  get_target_property(packages simba_${part} SIMBA_PACKAGES)
  foreach(package IN LISTS packages)
    set(known ${SIMBA_DEBIAN_PACKAGES})
    list(FILTER known INCLUDE REGEX "^${package}=")
    if(NOT known)
      message(FATAL_ERROR "simba: cmake/SimbaPackage.cmake does not know who has ${package}")
    endif()
    string(REGEX REPLACE "^[^=]*=" "" debian_package "${known}")
    if(debian_package)
      list(APPEND depends ${debian_package})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES depends)
list(JOIN depends ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libsimba-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(suggests)
if(TARGET simba::testkit)
  list(APPEND suggests libgtest-dev)
endif()
if(TARGET simba::prometheus)
  list(APPEND suggests prometheus-cpp-dev)
endif()
list(JOIN suggests ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers and libraries to build programs with.")

include(CPack)
