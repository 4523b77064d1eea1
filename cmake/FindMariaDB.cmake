# Finds the C client library of MariaDB and defines MariaDB::client. Neither MariaDB nor CMake ships
# a package for it.

# Some distributions have the headers where those of MySQL are; mariadb_version.h tells them apart.
find_path(MARIADB_INCLUDE_DIR mariadb_version.h PATH_SUFFIXES mariadb mysql)
find_library(MARIADB_LIBRARY mariadb PATH_SUFFIXES mariadb mysql)
mark_as_advanced(MARIADB_INCLUDE_DIR MARIADB_LIBRARY)

if(MARIADB_INCLUDE_DIR)
  file(STRINGS "${MARIADB_INCLUDE_DIR}/mariadb_version.h" line
    REGEX "define MARIADB_PACKAGE_VERSION +\"")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" MARIADB_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MariaDB
  REQUIRED_VARS MARIADB_LIBRARY MARIADB_INCLUDE_DIR
  VERSION_VAR MARIADB_VERSION)

if(MariaDB_FOUND AND NOT TARGET MariaDB::client)
  add_library(MariaDB::client UNKNOWN IMPORTED)
  set_target_properties(MariaDB::client PROPERTIES
    IMPORTED_LOCATION "${MARIADB_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MARIADB_INCLUDE_DIR}")
endif()
