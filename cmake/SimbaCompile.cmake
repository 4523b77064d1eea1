# How our own targets are compiled. Nothing here reaches a target of a user.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
  endif()
  if(NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  endif()
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(SIMBA_CCACHE ccache)
    if(SIMBA_CCACHE)
      set(CMAKE_CXX_COMPILER_LAUNCHER "${SIMBA_CCACHE}")
    endif()
  endif()
endif()

# What an optimized build is hardened with. A flag that the compiler does not know is left out, as CET
# is where the machine has none.
set(simba_hardening -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
if(SIMBA_HARDENING)
  include(CheckCXXCompilerFlag)
  include(CheckPIESupported)
  check_pie_supported()
  foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "SIMBA_HAS${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      list(APPEND simba_hardening ${flag})
    endif()
  endforeach()
endif()

function(simba_harden target)
  set(optimized "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  target_compile_options(${target} PRIVATE "$<${optimized}:${simba_hardening}>")
  target_link_options(${target} PRIVATE "$<${optimized}:LINKER:-z,relro,-z,now>")
endfunction()

function(simba_compile_options target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_SCAN_FOR_MODULES OFF
    POSITION_INDEPENDENT_CODE ON)
  if(SIMBA_HARDENING)
    simba_harden(${target})
  endif()
  if(SIMBA_WARNINGS OR SIMBA_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE
      -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
      -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wextra-semi
      # Options are aggregates with defaults; naming only some of them is their point.
      -Wno-missing-field-initializers
      # GCC 12 reports std::string concatenation by mistake (GCC bug 105651).
      $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
  endif()
  if(CMAKE_UNITY_BUILD)
    # A type of one source file looks to GCC like that of a header when both are compiled together.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  if(SIMBA_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
