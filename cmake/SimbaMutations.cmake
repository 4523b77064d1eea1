# tests/sim/mutations/*.mutation: mistakes that the simulation must find. Each makes a program
# simba-sim-<name> of one source file with the mistake and, for all else, what simba-sim is made of;
# the test BrokenEngine.<name> demands that it finds one of the rules that the mistake breaks,
# within a minute.
file(GLOB mutations CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/sim/mutations/*.mutation")
add_library(simba_sim_main OBJECT "${PROJECT_SOURCE_DIR}/tests/sim/main.cpp")
simba_compile_options(simba_sim_main)
target_link_libraries(simba_sim_main PRIVATE simba_sim)
foreach(mutation IN LISTS mutations)
  cmake_path(GET mutation STEM name)
  file(STRINGS "${mutation}" line REGEX "^file: " LIMIT_COUNT 1)
  string(REPLACE "file: " "" file "${line}")
  cmake_path(GET file PARENT_PATH folder)
  file(STRINGS "${mutation}" line REGEX "^found by: " LIMIT_COUNT 1)
  if(line STREQUAL "")
    message(FATAL_ERROR "${mutation} does not say which rules find it")
  endif()
  string(REPLACE "found by: " "" rules "${line}")
  string(REPLACE ", " "|" rules "${rules}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${mutation}")
  # The linker takes the mistaken object and leaves the right one in its archive: it must be there
  # alone.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/${file}" PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON)
  set(output "${PROJECT_BINARY_DIR}/mutations/${name}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -D "MUTATION=${mutation}" -D "SOURCES=${PROJECT_SOURCE_DIR}"
      -D "OUTPUT=${output}" -P "${PROJECT_SOURCE_DIR}/cmake/SimbaMutate.cmake"
    DEPENDS "${mutation}" "${PROJECT_SOURCE_DIR}/${file}"
      "${PROJECT_SOURCE_DIR}/cmake/SimbaMutate.cmake"
    VERBATIM)
  string(REPLACE "_" "-" target "simba-sim-${name}")
  add_executable(${target} $<TARGET_OBJECTS:simba_sim_main> "${output}")
  simba_compile_options(${target})
  # A mistake may leave something unused. Nobody debugs these programs.
  target_compile_options(${target} PRIVATE -Wno-error -O1 -g0)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/${folder}")
  target_link_libraries(${target} PRIVATE simba_sim Asio::asio spdlog::spdlog)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/mutations")
  add_test(NAME BrokenEngine.${name} COMMAND ${target} --hunt 60)
  # Not by its exit code: a crash is no find.
  set_tests_properties(BrokenEngine.${name} PROPERTIES
    PASS_REGULAR_EXPRESSION "found: (${rules}) in seed " LABELS sim TIMEOUT 120 PROCESSORS 2)
endforeach()
