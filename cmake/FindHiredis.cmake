# Finds the Redis client library hiredis and defines hiredis::hiredis. Debian's version ships no CMake
# package for it.

find_path(HIREDIS_INCLUDE_DIR hiredis/read.h)
find_library(HIREDIS_LIBRARY hiredis)
mark_as_advanced(HIREDIS_INCLUDE_DIR HIREDIS_LIBRARY)

set(HIREDIS_VERSION)
if(HIREDIS_INCLUDE_DIR)
  file(STRINGS "${HIREDIS_INCLUDE_DIR}/hiredis/hiredis.h" lines
    REGEX "^#define HIREDIS_(MAJOR|MINOR|PATCH) [0-9]+$")
  list(TRANSFORM lines REPLACE "^.* ([0-9]+)$" "\\1")
  list(JOIN lines "." HIREDIS_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis
  REQUIRED_VARS HIREDIS_LIBRARY HIREDIS_INCLUDE_DIR
  VERSION_VAR HIREDIS_VERSION)

if(Hiredis_FOUND AND NOT TARGET hiredis::hiredis)
  add_library(hiredis::hiredis UNKNOWN IMPORTED)
  set_target_properties(hiredis::hiredis PROPERTIES
    IMPORTED_LOCATION "${HIREDIS_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${HIREDIS_INCLUDE_DIR}")
endif()
