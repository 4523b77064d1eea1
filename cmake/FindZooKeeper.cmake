# Finds the ZooKeeper client library with threads and defines ZooKeeper::mt. Neither ZooKeeper nor
# CMake ships a package for it. ZOOKEEPER_HAS_TLS tells whether it was built with TLS.

find_path(ZOOKEEPER_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZOOKEEPER_LIBRARY zookeeper_mt)
mark_as_advanced(ZOOKEEPER_INCLUDE_DIR ZOOKEEPER_LIBRARY)

if(ZOOKEEPER_INCLUDE_DIR)
  file(STRINGS "${ZOOKEEPER_INCLUDE_DIR}/zookeeper/zookeeper_version.h" line
    REGEX "define ZOO_VERSION +\"")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" ZOOKEEPER_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper
  REQUIRED_VARS ZOOKEEPER_LIBRARY ZOOKEEPER_INCLUDE_DIR
  VERSION_VAR ZOOKEEPER_VERSION)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::mt)
  add_library(ZooKeeper::mt UNKNOWN IMPORTED)
  set_target_properties(ZooKeeper::mt PROPERTIES
    IMPORTED_LOCATION "${ZOOKEEPER_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ZOOKEEPER_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS THREADED)
endif()

if(ZooKeeper_FOUND)
  include(CheckCXXSourceCompiles)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_LIBRARIES "${ZOOKEEPER_LIBRARY}")
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles(
    "extern \"C\" void zookeeper_init_ssl(); int main() { zookeeper_init_ssl(); }"
    ZOOKEEPER_HAS_TLS)
  cmake_pop_check_state()
endif()
