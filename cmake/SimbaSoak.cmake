# tests/soak: the program simba-soak, short rounds of it as tests, and tests of what it judges by.
# `make soak` runs it for long.
include(SimbaProcessors)

file(GLOB soak_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/soak/*.cpp")
file(GLOB soak_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/soak/*_test.cpp")
set(soak_main "${PROJECT_SOURCE_DIR}/tests/soak/main.cpp")
list(REMOVE_ITEM soak_sources "${soak_main}" ${soak_tests})

add_library(simba_soak STATIC ${soak_sources})
simba_compile_options(simba_soak)
target_include_directories(simba_soak PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(simba_soak PUBLIC simba_test_support simba::config PRIVATE fmt::fmt)

add_executable(simba-soak "${soak_main}")
simba_compile_options(simba-soak)
target_link_libraries(simba-soak PRIVATE simba_soak)

simba_add_test_program(simba-soak-test BY_SUITE LABEL soak TIMEOUT 300 SOURCES ${soak_tests})
target_link_libraries(simba-soak-test PRIVATE simba_soak)
target_compile_definitions(simba-soak-test PRIVATE SIMBA_SOAK_PROGRAM="$<TARGET_FILE:simba-soak>")
add_dependencies(simba-soak-test simba-soak)
simba_use_processors(simba-soak-test 2)

foreach(product IN ITEMS redis:Redis mariadb:MariaDb)
  string(REGEX MATCH "^([a-z]+):(.+)$" ignored "${product}")
  add_test(NAME Soak.ShortRoundOn${CMAKE_MATCH_2} COMMAND simba-soak --store ${CMAKE_MATCH_1}
    --mutexes 200 --processes 6 --seconds 12)
  set_tests_properties(Soak.ShortRoundOn${CMAKE_MATCH_2} PROPERTIES
    LABELS soak TIMEOUT 300 SKIP_RETURN_CODE 77 PROCESSORS 2 COST 90)
endforeach()
