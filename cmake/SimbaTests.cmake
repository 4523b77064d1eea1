# tests/unit/**/*_test.cpp     -> one program, simba-unit-tests
# tests/<kind>/<name>_test.cpp -> one program each, simba-<name>-test, for kind contract, process, sim
include(GoogleTest)

function(simba_add_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES")
  add_executable(${target} ${arg_SOURCES})
  simba_compile_options(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE
    $<TARGET_NAME_IF_EXISTS:simba::testkit> simba::simba GTest::gmock_main GTest::gmock Asio::asio spdlog::spdlog fmt::fmt)
  # GoogleTest's headers are most of what a test takes to compile.
  target_precompile_headers(${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <chrono> <functional>
    <future> <memory> <string> <thread> <variant> <vector>)
  # PRE_TEST: a sanitized program runs only where ctest runs, which may need special settings.
  gtest_discover_tests(${target}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL})
endfunction()

file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/*_test.cpp")
if(unit_tests)
  simba_add_test_program(simba-unit-tests LABEL unit TIMEOUT 60 SOURCES ${unit_tests})
endif()

get_property(example_libraries GLOBAL PROPERTY SIMBA_EXAMPLE_LIBRARIES)
foreach(kind IN ITEMS contract process sim)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${kind}/*_test.cpp")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    string(REPLACE "_" "-" stem "${stem}")
    simba_add_test_program(simba-${stem} LABEL ${kind} TIMEOUT 300 SOURCES "${source}")
    target_link_libraries(simba-${stem} PRIVATE ${example_libraries})
  endforeach()
endforeach()

if(SIMBA_PACKAGE_TEST AND SIMBA_INSTALL)
  add_test(NAME package.an_installed_simba_can_be_found_and_used
    COMMAND "${CMAKE_COMMAND}"
      -D "build_dir=${PROJECT_BINARY_DIR}" -D "source_dir=${PROJECT_SOURCE_DIR}"
      -D "generator=${CMAKE_GENERATOR}" -D "cxx=${CMAKE_CXX_COMPILER}"
      -D "CMAKE_CTEST_COMMAND=${CMAKE_CTEST_COMMAND}"
      -P "${PROJECT_SOURCE_DIR}/cmake/PackageTest.cmake")
  set_tests_properties(package.an_installed_simba_can_be_found_and_used PROPERTIES
    TIMEOUT 300 LABELS package)
endif()
