# Makes one libFuzzer program of each tests/fuzz/*_fuzz.cpp: redis_reply_fuzz.cpp becomes
# simba-redis-reply-fuzz. The target simba-fuzz builds all of them. They need clang, and a library
# that is compiled for coverage and with sanitizers, as the preset "fuzz" does.

option(SIMBA_BUILD_FUZZERS "Build the fuzz targets (clang only)" OFF)
if(NOT SIMBA_BUILD_FUZZERS)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "simba: SIMBA_BUILD_FUZZERS needs clang; use the preset \"fuzz\"")
endif()

add_custom_target(simba-fuzz)
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM stem)
  # The part that it feeds: redis of redis_reply_fuzz.
  string(REGEX REPLACE "_.*" "" part "${stem}")
  if(NOT TARGET simba::${part})
    message(FATAL_ERROR "simba: ${stem} needs simba::${part}, which is not built")
  endif()
  string(REPLACE "_" "-" target "simba-${stem}")
  add_executable(${target} "${source}")
  simba_compile_options(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${target} PRIVATE simba::${part})
  add_dependencies(simba-fuzz ${target})
endforeach()
