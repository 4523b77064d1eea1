# Finds standalone Asio (no Boost) and defines Asio::asio. Debian's package ships no CMake config.

find_path(ASIO_INCLUDE_DIR asio.hpp)
mark_as_advanced(ASIO_INCLUDE_DIR)

if(ASIO_INCLUDE_DIR)
  # Written there as "1.22.1" in a comment after the number 102201.
  file(STRINGS "${ASIO_INCLUDE_DIR}/asio/version.hpp" line REGEX "define ASIO_VERSION")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" ASIO_VERSION "${line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio
  REQUIRED_VARS ASIO_INCLUDE_DIR
  VERSION_VAR ASIO_VERSION)

if(Asio_FOUND AND NOT TARGET Asio::asio)
  find_package(Threads REQUIRED)
  add_library(Asio::asio INTERFACE IMPORTED)
  set_target_properties(Asio::asio PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${ASIO_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "ASIO_STANDALONE;ASIO_NO_DEPRECATED"
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
