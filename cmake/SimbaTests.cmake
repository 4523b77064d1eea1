# tests/unit/**/*_test.cpp     -> one program, simba-unit-tests
# tests/<kind>/<name>_test.cpp -> one program each, simba-<name>-test, for kind contract, process, sim
include(GoogleTest)

# ---- Real servers ----------------------------------------------------------------------------
# tests/support: the library simba_test_support, and the program that holds a server for it.
file(GLOB support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
file(GLOB supervisor_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/supervisor/*.cpp")
list(REMOVE_ITEM support_sources "${PROJECT_SOURCE_DIR}/tests/support/test_server_main.cpp")

add_library(simba_test_support STATIC ${support_sources})
# Of the library only what it needs: it must not depend on Simba.
add_executable(simba-test-server ${supervisor_sources})
foreach(name IN ITEMS test_server_main location server redis_console redis_cluster_servers
    redis_sentinel_servers)
  target_sources(simba-test-server PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/${name}.cpp")
endforeach()
foreach(target IN ITEMS simba_test_support simba-test-server)
  simba_compile_options(${target})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/tests"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE
    SIMBA_TEST_MYSQL="${PROJECT_SOURCE_DIR}/build/mysql-5.7"
    SIMBA_TEST_SERVER="$<TARGET_FILE:simba-test-server>"
    SIMBA_TEST_JVM_CONTENDER="${PROJECT_SOURCE_DIR}/tests/support/jvm_contender.py")
endforeach()
target_link_libraries(simba_test_support PUBLIC simba::core
  PRIVATE hiredis::hiredis fmt::fmt Threads::Threads)
target_link_libraries(simba-test-server PRIVATE hiredis::hiredis fmt::fmt)
target_compile_definitions(simba-test-server PRIVATE
  SIMBA_TEST_TEMPLATES="${PROJECT_BINARY_DIR}/test-servers/templates")
add_dependencies(simba_test_support simba-test-server)

# Tests that need a server get it from a fixture: one server serves all tests of a run.
foreach(product IN ITEMS postgresql mariadb redis redis-tls redis-cluster redis-sentinel)
  set(folder "${PROJECT_BINARY_DIR}/test-servers/${product}")
  add_test(NAME servers.${product}.start COMMAND simba-test-server start ${product} "${folder}")
  add_test(NAME servers.${product}.stop COMMAND simba-test-server stop "${folder}")
  set_tests_properties(servers.${product}.start PROPERTIES FIXTURES_SETUP servers.${product})
  set_tests_properties(servers.${product}.stop PROPERTIES FIXTURES_CLEANUP servers.${product})
  set_tests_properties(servers.${product}.start servers.${product}.stop PROPERTIES
    TIMEOUT 120 LABELS servers)
endforeach()

# Gives the tests of a program the servers that they need, which its name tells.
function(simba_use_servers target)
  set(products)
  if(target MATCHES "^simba-(postgresql|sql)-")
    list(APPEND products postgresql)
  endif()
  if(target MATCHES "^simba-(mysql|sql)-")
    list(APPEND products mariadb)
  endif()
  if(target MATCHES "^simba-(redis-(tls|cluster|sentinel))-contract-test$")
    list(APPEND products ${CMAKE_MATCH_1})
  elseif(target MATCHES "^simba-redis-")
    list(APPEND products redis)
  endif()
  if(NOT products)
    return()
  endif()
  set(fixtures)
  set(environment)
  foreach(product IN LISTS products)
    string(TOUPPER "${product}" upper)
    string(REPLACE "-" "_" upper "${upper}")
    list(APPEND fixtures servers.${product})
    list(APPEND environment
      "SIMBA_TEST_${upper}=${PROJECT_BINARY_DIR}/test-servers/${product}/location")
  endforeach()
  # Lists do not survive the PROPERTIES of gtest_discover_tests, so they are set when ctest has
  # found the tests.
  set(file "${PROJECT_BINARY_DIR}/test-servers/${target}.cmake")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [=[
if(@target@_TESTS)
  set_tests_properties(${@target@_TESTS} PROPERTIES
    FIXTURES_REQUIRED "@fixtures@"
    ENVIRONMENT "@environment@")
endif()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()

# ---- Programs --------------------------------------------------------------------------------
function(simba_add_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES")
  add_executable(${target} ${arg_SOURCES})
  simba_compile_options(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE
    simba_test_support $<TARGET_NAME_IF_EXISTS:simba::testkit> simba::simba GTest::gmock_main GTest::gmock Asio::asio spdlog::spdlog fmt::fmt)
  # GoogleTest's headers are most of what a test takes to compile; for a few files it does not pay.
  list(LENGTH arg_SOURCES count)
  if(count GREATER 3)
    target_precompile_headers(${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <chrono>
      <functional> <future> <memory> <string> <thread> <variant> <vector>)
  endif()
  # PRE_TEST: a sanitized program runs only where ctest runs, which may need special settings.
  gtest_discover_tests(${target}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL})
  simba_use_servers(${target})
endfunction()

file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/*_test.cpp")
# The rules of the Redis store are tested with its scripts in the interpreter that Redis has inside.
find_package(Lua 5.1 EXACT QUIET)
if(LUA_FOUND)
  file(GLOB rules_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/redis/rules/*.cpp")
  list(APPEND unit_tests ${rules_sources})
else()
  message(STATUS "simba: the test RedisRules is left out (it needs Lua 5.1, liblua5.1-0-dev)")
  list(FILTER unit_tests EXCLUDE REGEX "/redis_rules_test\\.cpp$")
endif()
if(unit_tests)
  simba_add_test_program(simba-unit-tests LABEL unit TIMEOUT 60 SOURCES ${unit_tests})
  if(LUA_FOUND)
    target_include_directories(simba-unit-tests SYSTEM PRIVATE "${LUA_INCLUDE_DIR}")
    target_link_libraries(simba-unit-tests PRIVATE ${LUA_LIBRARIES})
  endif()
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
