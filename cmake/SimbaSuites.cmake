# Tests by suite: a program of many quick tests would be started for each of them otherwise, which
# takes longer than the tests, most of all under a sanitizer. This file is read by CMake and by ctest.

# Makes one test of each suite of a GoogleTest program, named like the suite.
# simba_discover_suites(<program> [LIST <name>] [ARGS <argument>] LABEL <labels> TIMEOUT <seconds>
#   [COST <cost>])
# With --gtest_filter as its argument only of some.
# ctest has the names in the variable <name>_TESTS, as after gtest_discover_tests; it is the
# program's by default.
function(simba_discover_suites target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIST;ARGS;LABEL;TIMEOUT;COST" "")
  if(NOT arg_LIST)
    set(arg_LIST ${target})
  endif()
  set(cost)
  if(arg_COST)
    set(cost " COST ${arg_COST}")
  endif()
  set(file "${PROJECT_BINARY_DIR}/test-suites/${arg_LIST}.cmake")
  file(GENERATE OUTPUT "${file}" CONTENT "include(\"${CMAKE_CURRENT_FUNCTION_LIST_FILE}\")
simba_add_suites(${arg_LIST}_TESTS \"$<TARGET_FILE:${target}>\" \"${arg_ARGS}\")
if(${arg_LIST}_TESTS)
  set_tests_properties(\${${arg_LIST}_TESTS} PROPERTIES LABELS \"${arg_LABEL}\" TIMEOUT ${arg_TIMEOUT}${cost})
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()

# For ctest: only there the program runs under the settings that a sanitizer may need.
function(simba_add_suites result program argument)
  set(${result} "" PARENT_SCOPE)
  if(NOT EXISTS "${program}")
    cmake_path(GET program FILENAME name)
    add_test("${name}${argument}_NOT_BUILT" "${program}")
    return()
  endif()
  execute_process(COMMAND "${program}" ${argument} --gtest_list_tests
    OUTPUT_VARIABLE list RESULT_VARIABLE status TIMEOUT 120)
  # A line "Suite." or "Suite/0.  # TypeParam = ..."; those of its tests begin with a space.
  string(REGEX MATCHALL "\n[^ \n]+\\.(\n|  #)" lines "\n${list}")
  if(NOT status EQUAL 0 OR lines STREQUAL "")
    message(FATAL_ERROR "${program} ${argument} does not list its tests (${status}):\n${list}")
  endif()
  set(suites)
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[^ \n]+\\." suite "${line}")
    string(REGEX REPLACE "\\.$" "" suite "${suite}")
    add_test("${suite}" "${program}" ${argument} "--gtest_filter=${suite}.*")
    list(APPEND suites "${suite}")
  endforeach()
  # ctest asks for this before the exit code, so it must not match where a test has failed.
  set_tests_properties(${suites} PROPERTIES SKIP_REGULAR_EXPRESSION
    "PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)+$")
  set(${result} "${suites}" PARENT_SCOPE)
endfunction()
