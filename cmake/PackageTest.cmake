# Run by ctest, see SimbaPackageTest.cmake: one test, which the variable `test` names.
cmake_minimum_required(VERSION 3.25)
set(work "${build_dir}/package-test")
set(prefix "${work}/prefix")
set(sources "${source_dir}/tests/package")

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# What a command prints.
function(capture result)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# A folder of its own, empty.
function(fresh_folder result)
  set(folder "${work}/${test}")
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}")
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Compiles and runs a program of tests/package with the flags that pkg-config gives.
function(run_with_pkg_config root module)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "SOURCE" "PKG_CONFIG;FLAGS")
  fresh_folder(folder)
  set(ENV{PKG_CONFIG_PATH} "${root}/${lib}/pkgconfig")
  capture(flags pkg-config --cflags --libs ${arg_PKG_CONFIG} ${module})
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${cxx}" -std=c++20 ${arg_FLAGS} "${sources}/${arg_SOURCE}" -o "${folder}/${module}" ${flags}
    "-Wl,-rpath,${root}/${lib}")
  run("${folder}/${module}")
endfunction()

# Fails where a text speaks of one of these libraries.
function(refuse_libraries where text)
  foreach(library IN LISTS ARGN)
    if(text MATCHES "${library}")
      message(FATAL_ERROR "${where} has to do with ${library}")
    endif()
  endforeach()
endfunction()

include("${CMAKE_CURRENT_LIST_DIR}/../tests/package/${test}.cmake")
