# The fuzz targets are tests/fuzz/*_fuzz.cpp; the first word of a name is the part that it feeds.
#
# - With SIMBA_BUILD_FUZZERS each becomes a libFuzzer program: redis_reply_fuzz.cpp becomes
#   simba-redis-reply-fuzz. The target simba-fuzz builds all of them. They need clang, and a library
#   that is compiled for coverage and with sanitizers, as the preset "fuzz" does.
# - With the tests, by any compiler, they become one program that runs the kept inputs of each:
#   simba-fuzz-corpus-test.

option(SIMBA_BUILD_FUZZERS "Build the fuzz targets (clang only)" OFF)

# What a target links: simba::redis for redis_reply_fuzz. Empty where that was not built.
function(simba_fuzzed_part stem result)
  string(REGEX REPLACE "_.*" "" part "${stem}")
  set(${result} "" PARENT_SCOPE)
  if(stem STREQUAL "cli_serve_fuzz" AND NOT TARGET simba::http)
    return()
  elseif(part STREQUAL "cli" AND TARGET simba_cli)
    set(${result} simba_cli PARENT_SCOPE)
  elseif(TARGET simba::${part})
    set(${result} simba::${part} PARENT_SCOPE)
  endif()
endfunction()

# The libraries that some parts see in their sources only, and their targets see, too.
set(fuzz_libraries)
foreach(library IN ITEMS SQLite::SQLite3 PostgreSQL::PostgreSQL ZooKeeper::mt)
  if(TARGET ${library})
    list(APPEND fuzz_libraries ${library})
  endif()
endforeach()

# Virtual time, for the targets that drive more than a parser.
function(simba_add_fuzz_world)
  if(NOT TARGET simba::testkit)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/testkit/manual_*.cpp")
    add_library(simba_fuzz_world STATIC ${sources} "${PROJECT_SOURCE_DIR}/testkit/capturing_logger.cpp")
    simba_compile_options(simba_fuzz_world)
    target_link_libraries(simba_fuzz_world PUBLIC simba::core)
  endif()
endfunction()

function(simba_add_fuzzers)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "simba: SIMBA_BUILD_FUZZERS needs clang; use the preset \"fuzz\"")
  endif()
  add_custom_target(simba-fuzz)
  simba_add_fuzz_world()
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM stem)
    simba_fuzzed_part(${stem} part)
    if(NOT part)
      message(FATAL_ERROR "simba: ${stem} needs a part that is not built")
    endif()
    string(REPLACE "_" "-" target "simba-${stem}")
    add_executable(${target} "${source}")
    simba_compile_options(${target})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src"
      "${PROJECT_SOURCE_DIR}/tests")
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(${target} PRIVATE ${part}
      $<IF:$<TARGET_EXISTS:simba_fuzz_world>,simba_fuzz_world,simba::testkit> ${fuzz_libraries})
    add_dependencies(simba-fuzz ${target})
  endforeach()
endfunction()

function(simba_add_corpus_test)
  set(names)
  set(sources "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus_test.cpp")
  set(parts)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM stem)
    simba_fuzzed_part(${stem} part)
    if(NOT part)
      message(STATUS "simba: the inputs of ${stem} are not run (its part is not built)")
      continue()
    endif()
    string(REGEX REPLACE "_fuzz$" "" name "${stem}")
    string(APPEND names " X(${name})")
    # Its entry gets a name of its own, so that all can be in one program, and be compiled together.
    set(renamed "${PROJECT_BINARY_DIR}/generated/fuzz/${stem}.cpp")
    file(CONFIGURE OUTPUT "${renamed}" @ONLY CONTENT [=[
#define LLVMFuzzerTestOneInput simba_fuzz_@name@
#include "@source@"
#undef LLVMFuzzerTestOneInput
]=])
    list(APPEND sources "${renamed}")
    list(APPEND parts ${part})
  endforeach()
  list(REMOVE_DUPLICATES parts)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/fuzz/fuzz_targets.hpp" @ONLY
    CONTENT "#pragma once\n\n#define SIMBA_FUZZ_TARGETS(X)@names@\n")
  set(target simba-fuzz-corpus-test)
  simba_add_test_program(${target} LABEL unit TIMEOUT 120 SOURCES ${sources})
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/generated/fuzz")
  target_compile_definitions(${target} PRIVATE
    SIMBA_TEST_CORPUS="${PROJECT_SOURCE_DIR}/tests/fuzz/corpus")
  target_link_libraries(${target} PRIVATE ${parts} ${fuzz_libraries})
endfunction()

file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp")
if(SIMBA_BUILD_FUZZERS)
  simba_add_fuzzers(${fuzz_sources})
endif()
if(SIMBA_BUILD_TESTS)
  simba_add_corpus_test(${fuzz_sources})
endif()
