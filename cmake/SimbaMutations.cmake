# tests/sim/mutations/*.mutation: mistakes that the simulation must find. Each makes a program
# simba-sim-<name> of one source file with the mistake and, for all else, what simba-sim is made of;
# the test BrokenEngine.<name> demands that it finds one of the rules that the mistake breaks,
# within a minute.
file(GLOB mutations CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/sim/mutations/*.mutation")
add_library(simba_sim_main OBJECT "${PROJECT_SOURCE_DIR}/tests/sim/main.cpp")
simba_compile_options(simba_sim_main)
target_link_libraries(simba_sim_main PRIVATE simba_sim)

# All copies are written in one step.
set(mutants "${PROJECT_BINARY_DIR}/mutations")
set(mutant_sources)
set(mutated_files)
foreach(mutation IN LISTS mutations)
  cmake_path(GET mutation STEM name)
  file(STRINGS "${mutation}" line REGEX "^file: " LIMIT_COUNT 1)
  string(REPLACE "file: " "" file "${line}")
  list(APPEND mutant_sources "${mutants}/${name}.cpp")
  list(APPEND mutated_files "${PROJECT_SOURCE_DIR}/${file}")
endforeach()
list(REMOVE_DUPLICATES mutated_files)
add_custom_command(OUTPUT ${mutant_sources}
  COMMAND "${CMAKE_COMMAND}" -D "MUTATIONS=${PROJECT_SOURCE_DIR}/tests/sim/mutations"
    -D "SOURCES=${PROJECT_SOURCE_DIR}" -D "OUTPUT=${mutants}"
    -P "${PROJECT_SOURCE_DIR}/cmake/WriteMutants.cmake"
  DEPENDS ${mutations} ${mutated_files} "${PROJECT_SOURCE_DIR}/cmake/WriteMutants.cmake"
  VERBATIM)
add_custom_target(simba_mutants DEPENDS ${mutant_sources})
# The linker takes the mistaken object and leaves the right one in its archive: it must be there
# alone.
set_source_files_properties(${mutated_files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

function(simba_mutant_options target)
  simba_compile_options(${target})
  # A mistake may leave something unused. Nobody debugs these programs.
  target_compile_options(${target} PRIVATE -Wno-error -O1 -g0)
  target_link_options(${target} PRIVATE LINKER:--strip-debug)
  target_link_libraries(${target} PRIVATE simba_sim Asio::asio spdlog::spdlog)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF RUNTIME_OUTPUT_DIRECTORY "${mutants}")
endfunction()

# Most of what a mutant takes to compile are headers that they all include.
add_executable(simba_mutant_headers "${empty_program}")
simba_mutant_options(simba_mutant_headers)
target_precompile_headers(simba_mutant_headers PRIVATE <engine/contention_machine.hpp>
  <simba/core/runtime.hpp> <algorithm> <chrono> <functional> <map> <memory> <mutex> <optional>
  <string> <variant> <vector>)

foreach(mutation IN LISTS mutations)
  cmake_path(GET mutation STEM name)
  file(STRINGS "${mutation}" line REGEX "^file: " LIMIT_COUNT 1)
  string(REGEX REPLACE "^file: (.*)/[^/]*$" "\\1" folder "${line}")
  file(STRINGS "${mutation}" line REGEX "^found by: " LIMIT_COUNT 1)
  if(line STREQUAL "")
    message(FATAL_ERROR "${mutation} does not say which rules find it")
  endif()
  string(REPLACE "found by: " "" rules "${line}")
  string(REPLACE ", " "|" rules "${rules}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${mutation}")
  string(REPLACE "_" "-" target "simba-sim-${name}")
  add_executable(${target} $<TARGET_OBJECTS:simba_sim_main> "${mutants}/${name}.cpp")
  add_dependencies(${target} simba_mutants)
  simba_mutant_options(${target})
  target_precompile_headers(${target} REUSE_FROM simba_mutant_headers)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/${folder}")
  add_test(NAME BrokenEngine.${name} COMMAND ${target} --hunt 60)
  # Not by its exit code: a crash is no find.
  set_tests_properties(BrokenEngine.${name} PROPERTIES
    PASS_REGULAR_EXPRESSION "found: (${rules}) in seed " LABELS sim TIMEOUT 600 PROCESSORS 2)
endforeach()
