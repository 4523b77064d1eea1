# Only configured. Distributions put the headers into mariadb/ or mysql/, and the latter may also be those
# of MySQL.
fresh_folder(folder)
file(WRITE "${folder}/sources/CMakeLists.txt" [=[
cmake_minimum_required(VERSION 3.25)
project(finds_mariadb LANGUAGES CXX)
list(PREPEND CMAKE_MODULE_PATH "${simba_dir}/cmake")
find_package(MariaDB 3.3 REQUIRED)
if(NOT MARIADB_INCLUDE_DIR STREQUAL "${wanted}" OR NOT MARIADB_VERSION STREQUAL "3.4.5")
  message(FATAL_ERROR "found ${MARIADB_VERSION} in ${MARIADB_INCLUDE_DIR}, not in ${wanted}")
endif()
]=])
foreach(place IN ITEMS mariadb mysql)
  set(root "${folder}/${place}")
  file(WRITE "${root}/include/mysql/mysql.h" "")
  file(WRITE "${root}/include/${place}/mysql.h" "")
  file(WRITE "${root}/include/${place}/mariadb_version.h"
    "#define MARIADB_PACKAGE_VERSION \"3.4.5\"\n")
  file(WRITE "${root}/lib/libmariadb.so" "")
  run("${CMAKE_COMMAND}" -S "${folder}/sources" -B "${folder}/build-${place}" -G Ninja
    -D "CMAKE_CXX_COMPILER=${cxx}" -D "simba_dir=${source_dir}" -D "CMAKE_PREFIX_PATH=${root}"
    -D "wanted=${root}/include/${place}" --log-level=WARNING)
endforeach()
