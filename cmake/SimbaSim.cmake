# tests/sim: the deterministic simulation. The library simba_sim is all of it but main.cpp and the
# tests, with the virtual time of tests/unit/rules; the program is simba-sim.
file(GLOB_RECURSE sim_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/sim/*.cpp")
list(FILTER sim_sources EXCLUDE REGEX "/(main|[a-z_]*_test)\\.cpp$")
add_library(simba_sim STATIC ${sim_sources} "${PROJECT_SOURCE_DIR}/tests/unit/rules/world.cpp")
simba_compile_options(simba_sim)
target_include_directories(simba_sim PUBLIC "${PROJECT_SOURCE_DIR}/tests"
  PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(simba_sim PUBLIC simba::core fmt::fmt Threads::Threads)

add_executable(simba-sim "${PROJECT_SOURCE_DIR}/tests/sim/main.cpp")
simba_compile_options(simba-sim)
target_link_libraries(simba-sim PRIVATE simba_sim)

# The presets that only instrument leave the long runs and the mistakes out: they need not be found
# twice.
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  include(SimbaMutations)
  # 1,000 hours in parts of about 500 seeds. One after another, beside tests that wait: they
  # keep a processor busy.
  foreach(part RANGE 1 8)
    math(EXPR first_seed "(${part} - 1) * 500 + 1")
    add_test(NAME Simulation.LongRun${part}
      COMMAND nice -n 10 $<TARGET_FILE:simba-sim> --hours 125 --first-seed ${first_seed})
    set_tests_properties(Simulation.LongRun${part} PROPERTIES
      LABELS sim TIMEOUT 1800 RESOURCE_LOCK simulation COST 100)
    set_property(GLOBAL APPEND PROPERTY SIMBA_COMPUTING_TESTS Simulation.LongRun${part})
  endforeach()
endif()
