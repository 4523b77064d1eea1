# tests/chaos: the program simba-chaos, the libraries that it loads into contenders and servers, and
# a program of tests of its own parts. A round on a store that was not built says so and is skipped.
include(SimbaProcessors)

# Loaded into programs that know nothing of them, so nothing of a sanitizer is in them.
foreach(name IN ITEMS clock_skew detour)
  string(REPLACE "_" "-" target "simba-${name}")
  add_library(${target} MODULE "${PROJECT_SOURCE_DIR}/tests/chaos/faults/${name}.cpp")
  simba_compile_options(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(${target} PRIVATE -fno-sanitize=all)
  target_link_options(${target} PRIVATE -fno-sanitize=all)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
endforeach()

file(GLOB_RECURSE chaos_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/chaos/*.cpp")
file(GLOB_RECURSE chaos_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/chaos/*_test.cpp")
list(REMOVE_ITEM chaos_sources ${chaos_tests} "${PROJECT_SOURCE_DIR}/tests/chaos/main.cpp"
  "${PROJECT_SOURCE_DIR}/tests/chaos/faults/clock_skew.cpp"
  "${PROJECT_SOURCE_DIR}/tests/chaos/faults/detour.cpp"
  "${PROJECT_SOURCE_DIR}/tests/chaos/faults/sanitized_wait.cpp")
add_library(simba_chaos STATIC ${chaos_sources})
simba_test_options(simba_chaos)
target_include_directories(simba_chaos PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_compile_definitions(simba_chaos PUBLIC
  SIMBA_CHAOS_CLOCK_SKEW="$<TARGET_FILE:simba-clock-skew>"
  SIMBA_CHAOS_DETOUR="$<TARGET_FILE:simba-detour>"
  SIMBA_CHAOS_JVM_ON_REDIS="${PROJECT_SOURCE_DIR}/tests/chaos/jvm/jvm_on_redis.py")
target_link_libraries(simba_chaos PUBLIC simba::simba simba_test_support fmt::fmt Threads::Threads
  PRIVATE MariaDB::client)
add_dependencies(simba_chaos simba-clock-skew simba-detour)

add_executable(simba-chaos "${PROJECT_SOURCE_DIR}/tests/chaos/main.cpp")
simba_test_options(simba-chaos)
target_link_libraries(simba-chaos PRIVATE simba_chaos)

# A short round on each store. The seeds are fixed: the faults, their order and their lengths are
# the same each time; whom they hit follows from who owns the mutexes. A round lasts until each
# basic fault has been done, which takes longer where servers are a group. The timeout allows for
# the scale of sanitized builds (SIMBA_TEST_SCALE).
set(chaos_timeout 300)
foreach(entry IN ITEMS Sqlite:sqlite:1 MariaDb:mariadb:2 PostgreSql:postgresql:3 Redis:redis:4
    RedisSentinel:redis-sentinel:5 RedisCluster:redis-cluster:6
    RedisClusterReplicas:redis-cluster-replicas:7 ZooKeeper:zookeeper:8
    ZooKeeperEnsemble:zookeeper-ensemble:9 MySql57:mysql57:10 MySql97:mysql97:11)
  string(REPLACE ":" ";" entry "${entry}")
  list(GET entry 0 name)
  list(GET entry 1 store)
  list(GET entry 2 seed)
  add_test(NAME Chaos.ShortRoundOn${name}
    COMMAND simba-chaos --store ${store} --seconds 15 --seed ${seed})
  set_tests_properties(Chaos.ShortRoundOn${name} PROPERTIES
    LABELS chaos TIMEOUT ${chaos_timeout} SKIP_RETURN_CODE 77 PROCESSORS 2 COST 90)
endforeach()

# Whether a sanitizer bears the clocks that contenders see, which make tsan and make asan rely on.
include(CheckCXXSourceCompiles)
foreach(name IN ITEMS Thread Address)
  string(TOLOWER "${name}" sanitizer)
  set(flags -fno-sanitize=all -fsanitize=${sanitizer})
  list(JOIN flags " " CMAKE_REQUIRED_FLAGS)
  check_cxx_source_compiles("int main() {}" SIMBA_HAS_SANITIZER_${sanitizer})
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT SIMBA_HAS_SANITIZER_${sanitizer})
    message(STATUS "simba: the test of the clock shim with the ${sanitizer} sanitizer is left out")
    continue()
  endif()
  set(target simba-sanitized-wait-${sanitizer})
  add_executable(${target} "${PROJECT_SOURCE_DIR}/tests/chaos/faults/sanitized_wait.cpp")
  simba_compile_options(${target})
  target_compile_options(${target} PRIVATE ${flags})
  target_link_options(${target} PRIVATE ${flags})
  target_link_libraries(${target} PRIVATE Threads::Threads)
  add_dependencies(${target} simba-clock-skew)
  add_test(NAME Chaos.ClockShimIsFitFor${name}Sanitizer COMMAND ${target})
  set_tests_properties(Chaos.ClockShimIsFitFor${name}Sanitizer PROPERTIES
    LABELS chaos TIMEOUT 60 ENVIRONMENT
    "LD_PRELOAD=$<TARGET_FILE:simba-clock-skew>;ASAN_OPTIONS=verify_asan_link_order=0")
endforeach()

# Those that start servers, one at a time.
set(chaos_program_tests "${PROJECT_SOURCE_DIR}/tests/chaos/program_test.cpp"
  "${PROJECT_SOURCE_DIR}/tests/chaos/faults/store_clock_test.cpp")
list(REMOVE_ITEM chaos_tests ${chaos_program_tests})
simba_add_test_program(simba-chaos-test BY_SUITE LABEL chaos TIMEOUT 60 SOURCES ${chaos_tests})
simba_add_test_program(simba-chaos-program-test LABEL chaos TIMEOUT ${chaos_timeout}
  SOURCES ${chaos_program_tests})
foreach(target IN ITEMS simba-chaos-test simba-chaos-program-test)
  target_link_libraries(${target} PRIVATE simba_chaos)
  target_compile_definitions(${target} PRIVATE SIMBA_CHAOS_PROGRAM="$<TARGET_FILE:simba-chaos>")
  add_dependencies(${target} simba-chaos)
endforeach()
simba_use_processors(simba-chaos-program-test 2)
