# tests/unit/**/*_test.cpp            -> one program, simba-unit-tests
# tests/allocations/*_test.cpp        -> one program, simba-allocations-test
# tests/sim/*_test.cpp                -> one program, simba-sim-test
# tests/contract/<name>_test.cpp      -> one program each, simba-<name>-test
# tests/contract/*.cpp, the others    -> one program, simba-contract-tests --store=<name>
# tests/process/<folder>/*_test.cpp   -> one program a folder, simba-<folder>-test
include(GoogleTest)
include(SimbaSuites)

# ---- Real servers ----------------------------------------------------------------------------
# tests/support: the library simba_test_support, and the program that holds a server for it.
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")
file(GLOB supervisor_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/supervisor/*.cpp")
list(REMOVE_ITEM support_sources ${supervisor_sources} "${PROJECT_SOURCE_DIR}/tests/support/test_server_main.cpp")
if(NOT TARGET simba::zookeeper)
  list(FILTER support_sources EXCLUDE REGEX "/zookeeper_console\\.cpp$")
endif()

add_library(simba_test_support STATIC ${support_sources})
# Of the library only what it needs: it must not depend on Simba.
add_executable(simba-test-server ${supervisor_sources})
foreach(name IN ITEMS test_server_main free_ports location server processes/process_state
    redis/redis_console redis/redis_cluster_servers redis/redis_sentinel_servers
    zookeeper/zookeeper_servers)
  target_sources(simba-test-server PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/${name}.cpp")
endforeach()
foreach(target IN ITEMS simba_test_support simba-test-server)
  simba_compile_options(${target})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/tests"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE
    SIMBA_TEST_MYSQL="${PROJECT_SOURCE_DIR}/build/mysql-5.7"
    SIMBA_TEST_MYSQL97="${PROJECT_SOURCE_DIR}/build/servers/sid/mysql"
    SIMBA_TEST_PROMETHEUS="${PROJECT_SOURCE_DIR}/build/prometheus/usr/bin/prometheus"
    SIMBA_TEST_SERVER="$<TARGET_FILE:simba-test-server>"
    SIMBA_TEST_JVM_CONTENDER="${PROJECT_SOURCE_DIR}/tests/support/jvm/jvm_contender.py"
    SIMBA_TEST_JAVA_CLASSES="${PROJECT_BINARY_DIR}/test-classes")
endforeach()
target_link_libraries(simba_test_support PUBLIC simba::core
  PRIVATE hiredis::hiredis fmt::fmt Threads::Threads)
target_link_libraries(simba-test-server PRIVATE hiredis::hiredis fmt::fmt)
target_compile_definitions(simba-test-server PRIVATE
  SIMBA_TEST_TEMPLATES="${PROJECT_BINARY_DIR}/test-servers/templates")
add_dependencies(simba_test_support simba-test-server)
if(TARGET simba::zookeeper)
  target_link_libraries(simba_test_support PRIVATE ZooKeeper::mt)
endif()

# The contender that uses Curator. A Java machine has the compiler inside, also without a JDK.
set(curator_recipes /usr/share/java/curator-recipes.jar)
find_program(SIMBA_JAVA java)
mark_as_advanced(SIMBA_JAVA)
if(NOT TARGET simba::zookeeper)
  # Nothing to be beside.
elseif(SIMBA_JAVA AND EXISTS "${curator_recipes}")
  set(sources "${PROJECT_SOURCE_DIR}/tests/support/jvm/CuratorContender.java"
    "${PROJECT_SOURCE_DIR}/tests/chaos/jvm/JvmOnZooKeeper.java")
  set(classes "${PROJECT_BINARY_DIR}/test-classes")
  set(warnings)  # of a compiler that we have not met they must not fail a build
  if(SIMBA_WARNINGS_AS_ERRORS)
    set(warnings -Xlint:all,-classfile,-path -Werror)
  endif()
  add_custom_command(OUTPUT "${classes}/CuratorContender.class" "${classes}/JvmOnZooKeeper.class"
    COMMAND "${SIMBA_JAVA}" -Xshare:auto -XX:TieredStopAtLevel=1 -XX:-UsePerfData
      -m jdk.compiler/com.sun.tools.javac.Main ${warnings}
      -d "${classes}" -cp "${curator_recipes}" ${sources}
    DEPENDS ${sources} "${curator_recipes}"
    VERBATIM)
  add_custom_target(simba_test_classes DEPENDS "${classes}/CuratorContender.class")
  add_dependencies(simba_test_support simba_test_classes)
else()
  message(STATUS "simba: tests beside Curator will be skipped (they need default-jre-headless and "
    "libcurator-recipes-java)")
endif()

# Tests that need a server get it from a fixture: one server serves all tests of a run.
foreach(product IN ITEMS postgresql mariadb redis redis-tls redis-cluster redis-sentinel zookeeper
    zookeeper-ensemble)
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
  if(target MATCHES "^simba-(postgresql|sql|cli-stores)-")
    list(APPEND products postgresql)
  endif()
  if(target MATCHES "^simba-(mysql|mariadb|sql|cli-stores)-")
    list(APPEND products mariadb)
  endif()
  if(target MATCHES "^simba-(redis-(tls|cluster|sentinel))-contract$")
    list(APPEND products ${CMAKE_MATCH_1})
  elseif(target MATCHES "^simba-(redis|cli|support)-")
    list(APPEND products redis)
  endif()
  if(target MATCHES "^simba-zookeeper-ensemble-contract$")
    list(APPEND products zookeeper-ensemble)
  elseif(target MATCHES "^simba-(zookeeper|cli-stores|support)-")
    list(APPEND products zookeeper)
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
# Tests wait more than they compute, and there are many of them: what counts is how fast they compile.
function(simba_test_options target)
  simba_compile_options(${target})
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(${target} PRIVATE -O0 -g1)
  endif()
  if(CMAKE_UNITY_BUILD)
    # Names of one test hide those of another that is compiled together with it.
    target_compile_options(${target} PRIVATE -Wno-shadow)
  endif()
endfunction()

# GoogleTest's headers are most of what a test takes to compile: they are compiled once.
set(empty_program "${PROJECT_BINARY_DIR}/simba_empty_program.cpp")
file(CONFIGURE OUTPUT "${empty_program}"
  CONTENT "// Stands for the headers that many programs include.\nint main() {}\n")
add_executable(simba_test_headers "${empty_program}")  # tests are programs, too: compiled alike
simba_test_options(simba_test_headers)
set_target_properties(simba_test_headers PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
target_link_libraries(simba_test_headers PRIVATE GTest::gmock)
target_precompile_headers(simba_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h> <chrono>
  <functional> <future> <memory> <string> <thread> <variant> <vector>)

# BY_SUITE: ctest runs one process for each suite, not for each test. For quick tests that wait for
# little: those of a suite run one after another.
# SUITES: it does so with these suites only, whose tests share a server that the suite starts.
function(simba_add_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BY_SUITE;NO_TESTS" "LABEL;TIMEOUT;COST" "SOURCES;SUITES")
  add_executable(${target} ${arg_SOURCES})
  simba_test_options(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE
    simba_test_support $<TARGET_NAME_IF_EXISTS:simba::testkit> simba::simba GTest::gmock_main GTest::gmock Asio::asio spdlog::spdlog fmt::fmt)
  target_precompile_headers(${target} REUSE_FROM simba_test_headers)
  if(arg_NO_TESTS)
    return()
  elseif(arg_BY_SUITE)
    simba_discover_suites(${target} LABEL ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} COST ${arg_COST})
  else()
    set(filter)
    if(arg_SUITES)
      list(TRANSFORM arg_SUITES APPEND ".*")
      list(JOIN arg_SUITES ":" suites)
      simba_discover_suites(${target} LIST ${target}-suites ARGS "--gtest_filter=${suites}"
        LABEL ${arg_LABEL} TIMEOUT 900 COST 80)
      simba_use_servers(${target}-suites)
      set(filter TEST_FILTER "-${suites}")
    endif()
    # PRE_TEST: a sanitized program runs only where ctest runs, which may need special settings.
    gtest_discover_tests(${target} ${filter}
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 120
      PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL})
  endif()
  simba_use_servers(${target})
endfunction()

file(GLOB_RECURSE unit_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/*_test.cpp")
file(GLOB rules_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/rules/*.cpp")
# The rules of the Redis store are tested with its scripts in the interpreter that Redis has inside.
find_package(Lua 5.1 EXACT QUIET)
if(LUA_FOUND)
  file(GLOB redis_rules CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/redis/rules/*.cpp")
  list(APPEND rules_sources ${redis_rules})
else()
  message(STATUS "simba: the test RedisRules is left out (it needs Lua 5.1, liblua5.1-0-dev)")
  list(FILTER unit_tests EXCLUDE REGEX "/redis_rules_test\\.cpp$")
endif()
if(TARGET simba::zookeeper)
  file(GLOB zookeeper_rules CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/tests/unit/zookeeper/rules/*.cpp")
  list(APPEND rules_sources ${zookeeper_rules})
else()
  list(FILTER unit_tests EXCLUDE REGEX "/unit/zookeeper/")
endif()
find_package(Boost 1.81 CONFIG QUIET)
if(NOT Boost_FOUND)
  message(STATUS "simba: the test ClientOnBoostAsio is left out (it needs Boost 1.81 or later)")
  list(FILTER unit_tests EXCLUDE REGEX "/boost_asio_test\\.cpp$")
endif()
if(NOT TARGET simba::http)
  list(FILTER unit_tests EXCLUDE REGEX "/unit/http/")
endif()
if(NOT TARGET simba_cli)
  list(FILTER unit_tests EXCLUDE REGEX "/unit/cli/")
elseif(NOT TARGET simba::http)
  list(FILTER unit_tests EXCLUDE REGEX "/unit/cli/serve/")
endif()
if(NOT TARGET simba::prometheus)
  list(FILTER unit_tests EXCLUDE REGEX "/unit/prometheus/")
endif()
# What plays in virtual time computes and does not wait: it is optimized as the library is.
add_library(simba_rules STATIC ${rules_sources})
simba_compile_options(simba_rules)
target_include_directories(simba_rules PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(simba_rules PUBLIC simba::simba fmt::fmt)
if(LUA_FOUND)
  target_include_directories(simba_rules SYSTEM PUBLIC "${LUA_INCLUDE_DIR}")
  target_link_libraries(simba_rules PUBLIC ${LUA_LIBRARIES})
endif()
if(unit_tests)
  simba_add_test_program(simba-unit-tests BY_SUITE LABEL unit TIMEOUT 300 SOURCES ${unit_tests})
  target_link_libraries(simba-unit-tests PRIVATE simba_rules $<TARGET_NAME_IF_EXISTS:simba_cli>
    $<TARGET_NAME_IF_EXISTS:Boost::headers> $<TARGET_NAME_IF_EXISTS:simba::prometheus>)
endif()

# They replace operator new.
file(GLOB allocation_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/allocations/*_test.cpp")
simba_add_test_program(simba-allocations-test BY_SUITE LABEL unit TIMEOUT 300 SOURCES ${allocation_tests})

include(SimbaSim)
file(GLOB sim_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/sim/*_test.cpp")
simba_add_test_program(simba-sim-test BY_SUITE LABEL sim TIMEOUT 300 SOURCES ${sim_tests})
target_link_libraries(simba-sim-test PRIVATE simba_sim)
target_compile_definitions(simba-sim-test PRIVATE SIMBA_TEST_SIM="$<TARGET_FILE:simba-sim>")
add_dependencies(simba-sim-test simba-sim)

get_property(example_libraries GLOBAL PROPERTY SIMBA_EXAMPLE_LIBRARIES)
file(GLOB contract_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/contract/*_test.cpp")
foreach(source IN LISTS contract_tests)
  cmake_path(GET source STEM stem)
  string(REPLACE "_" "-" stem "${stem}")
  simba_add_test_program(simba-${stem} BY_SUITE LABEL contract TIMEOUT 300 COST 80
    SOURCES "${source}")
  target_link_libraries(simba-${stem} PRIVATE ${example_libraries})
endforeach()
# The contract on the stores of ours. Each is one process for all of it: a minute of waiting, or
# several under a sanitizer.
file(GLOB contract_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/contract/*.cpp")
list(REMOVE_ITEM contract_sources ${contract_tests})
set(contract_stores memory sqlite postgresql mariadb mysql57 mysql97 redis redis-tls redis-cluster
  redis-sentinel)
if(TARGET simba::zookeeper)
  list(APPEND contract_stores zookeeper zookeeper-ensemble)
else()
  list(FILTER contract_sources EXCLUDE REGEX "/zookeeper\\.cpp$")
endif()
simba_add_test_program(simba-contract-tests NO_TESTS SOURCES ${contract_sources})
foreach(store IN LISTS contract_stores)
  set(labels contract)
  if(store MATCHES "^(memory|sqlite)$")
    list(APPEND labels check)  # for "make check": they need no server
  endif()
  simba_discover_suites(simba-contract-tests LIST simba-${store}-contract ARGS --store=${store}
    LABEL "${labels}" TIMEOUT 900 COST 80)
  simba_use_servers(simba-${store}-contract)
endforeach()

# The tests of one folder are one program: a link of all drivers takes longer than a test compiles.
set(suites_of_mysql Modes/MySqlFault)
set(suites_of_support RedisClusterTestServers ZooKeeperTestEnsemble)
set(suites_of_zookeeper ZooKeeperFaults)
set(groups)
if(SIMBA_PROCESS_TESTS)
  set(groups library mysql postgresql redis sql sqlite support)
  if(TARGET simba::zookeeper)
    list(APPEND groups zookeeper)
  endif()
  if(TARGET simba-command)
    list(APPEND groups cli cli_stores)
  endif()
endif()
foreach(group IN LISTS groups)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/process/${group}/*_test.cpp")
  if(NOT TARGET simba::zookeeper)
    list(FILTER sources EXCLUDE REGEX "/zookeeper_[a-z_]*_test\\.cpp$")
  endif()
  if(NOT TARGET simba::http)
    list(FILTER sources EXCLUDE REGEX "/cli/(haproxy|probes)_test\\.cpp$")
  endif()
  if(NOT TARGET simba-examples)
    list(FILTER sources EXCLUDE REGEX "/examples_test\\.cpp$")
  endif()
  if(NOT TARGET simba::http)
    list(FILTER sources EXCLUDE REGEX "/serve_test\\.cpp$")
  endif()
  string(REPLACE "_" "-" target "simba-${group}-test")
  simba_add_test_program(${target} LABEL process TIMEOUT 300 SOURCES ${sources}
    SUITES ${suites_of_${group}})
  target_link_libraries(${target} PRIVATE ${example_libraries})
  if(group STREQUAL "library" AND TARGET simba-examples)
    target_compile_definitions(${target} PRIVATE
      SIMBA_TEST_EXAMPLES="$<TARGET_FILE_DIR:simba-example-lock>")
    add_dependencies(${target} simba-examples)
  endif()
  if(group STREQUAL "library")
    add_executable(simba-scraped-contender "${PROJECT_SOURCE_DIR}/tests/process/library/scraped_contender.cpp")
    simba_test_options(simba-scraped-contender)
    target_link_libraries(simba-scraped-contender PRIVATE simba::config Asio::asio fmt::fmt)
    target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json)
    target_compile_definitions(${target} PRIVATE SIMBA_TEST_SOURCES="${PROJECT_SOURCE_DIR}"
      SIMBA_TEST_SCRAPED_CONTENDER="$<TARGET_FILE:simba-scraped-contender>")
    add_dependencies(${target} simba-scraped-contender)
  endif()
  if(group MATCHES "^cli")
    target_compile_definitions(${target} PRIVATE
      SIMBA_TEST_COMMAND="$<TARGET_FILE:simba-command>"
      SIMBA_TEST_SOURCES="${PROJECT_SOURCE_DIR}")
    add_dependencies(${target} simba-command)
  endif()
endforeach()

# What "make interop" runs beside other libraries.
add_executable(simba-interop-contender EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/interop/contender.cpp")
simba_test_options(simba-interop-contender)
target_link_libraries(simba-interop-contender PRIVATE simba_test_support simba::config fmt::fmt)

# Our scripts, on small projects.
function(simba_add_script_tests suite file)
  set(script "${PROJECT_SOURCE_DIR}/tests/scripts/${file}")
  file(STRINGS "${script}" cases REGEX "^[A-Z][A-Za-z]+\\(\\) {")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
  foreach(case IN LISTS cases)
    string(REGEX REPLACE "\\(.*" "" case "${case}")
    add_test(NAME ${suite}.${case} COMMAND bash "${script}" "${PROJECT_SOURCE_DIR}" ${ARGN} ${case})
    set_tests_properties(${suite}.${case} PROPERTIES LABELS process TIMEOUT 120 SKIP_RETURN_CODE 77)
  endforeach()
endfunction()
if(SIMBA_PROCESS_TESTS)
  if(TARGET simba-command)
    add_test(NAME CliSchedule.ItsTimesAreThoseOfCroniter COMMAND /usr/bin/python3 -I
      "${PROJECT_SOURCE_DIR}/tests/process/cli/cron_oracle.py" $<TARGET_FILE:simba-command> 200 1)
    set_tests_properties(CliSchedule.ItsTimesAreThoseOfCroniter PROPERTIES
      LABELS process TIMEOUT 120 SKIP_RETURN_CODE 77)
  endif()
  if(TARGET simba-command AND TARGET simba::http)
    add_test(NAME CliServe.ThePageInARealBrowser COMMAND /usr/bin/python3 -B
      "${PROJECT_SOURCE_DIR}/tests/browser/page_test.py" $<TARGET_FILE:simba-command>)
    set_tests_properties(CliServe.ThePageInARealBrowser PROPERTIES
      LABELS process TIMEOUT 600 COST 60 PROCESSORS 2 SKIP_RETURN_CODE 77)
  endif()
  simba_add_script_tests(TestScript test_sh_test.sh $<TARGET_FILE:simba-test-server>)
  simba_add_script_tests(IncludesScript check_includes_test.sh)
  simba_add_script_tests(FetchMySqlScript fetch_mysql_test.sh)
  simba_add_script_tests(FetchPrometheusScript fetch_prometheus_test.sh)
  simba_add_script_tests(AbiScript abi_test.sh)
  simba_add_script_tests(SetupScript setup_test.sh)
  simba_add_script_tests(TsanSuppressions tsan_test.sh)
endif()

include(SimbaDocuments)

if(SIMBA_PACKAGE_TEST AND SIMBA_INSTALL)
  include(SimbaPackageTest)
endif()

if(SIMBA_PROCESS_TESTS)
  include(SimbaSoak)
endif()

include(SimbaChaos)

# ---- What runs beside what -------------------------------------------------------------------
get_property(computing GLOBAL PROPERTY SIMBA_COMPUTING_TESTS)
# How turns are shared depends on who gets a processor: nothing else runs meanwhile. ctest starts first
# what other tests depend on: so what computes for long is done beside tests that wait for servers.
set(file "${PROJECT_BINARY_DIR}/alone.cmake")
file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [=[
foreach(test IN LISTS simba-redis-test_TESTS)
  if(test MATCHES "^RedisShares")
    set_tests_properties("${test}" PROPERTIES RUN_SERIAL TRUE DEPENDS "@computing@")
  endif()
endforeach()
foreach(test IN LISTS simba-unit-tests_TESTS)
  if(test MATCHES "(Redis|ZooKeeper)Rules$")
    set_tests_properties("${test}" PROPERTIES PROCESSORS 2 COST 50)
  endif()
endforeach()
]=])
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
