# simba_add_part(NAME <part> ...) declares one part of the library as target simba::<part>.
#
#   DIRS             names under src/ and include/simba/ it is made of (default: <part>)
#   LISTED_DIRS      folders below src/ whose sources the caller adds itself
#   SOURCE_DIRS      source directories relative to the root, where they are not src/<dir>
#   HEADERS          public headers that are in none of DIRS, relative to the root
#   REQUIRES         variables that must be true, e.g. Hiredis_FOUND; else the part is left out
#   PUBLIC_LINK      targets seen in its headers
#   PRIVATE_LINK     targets seen in its sources only
#   OPTIONAL_PARTS   parts seen in its sources only, where they were built: SIMBA_HAS_<PART> is 1 then
#   HEADER_ONLY      like PRIVATE_LINK for header-only libraries: an installed simba needs none
#   PUBLIC_PACKAGES  packages a user of the installed part must find
#   PRIVATE_PACKAGES packages such a user must find if the part is a static library
#   NOT_IN_UMBRELLA  simba::simba does not link it
#   ALWAYS_STATIC    a static library even with BUILD_SHARED_LIBS
#
# The parts that were built are listed in the global property SIMBA_PARTS.
function(simba_add_part)
  cmake_parse_arguments(PARSE_ARGV 0 part "NOT_IN_UMBRELLA;ALWAYS_STATIC" "NAME"
    "DIRS;LISTED_DIRS;SOURCE_DIRS;HEADERS;REQUIRES;PUBLIC_LINK;PRIVATE_LINK;OPTIONAL_PARTS;HEADER_ONLY;PUBLIC_PACKAGES;PRIVATE_PACKAGES")
  set(name ${part_NAME})
  if(NOT part_DIRS)
    set(part_DIRS ${name})
  endif()
  if(NOT part_SOURCE_DIRS)
    list(TRANSFORM part_DIRS PREPEND src/ OUTPUT_VARIABLE part_SOURCE_DIRS)
  endif()

  foreach(condition IN LISTS part_REQUIRES)
    if(NOT ${condition})
      message(STATUS "simba: ${name} is left out (${condition} is not true)")
      return()
    endif()
  endforeach()
  foreach(library IN LISTS part_PUBLIC_LINK)
    if(NOT TARGET ${library})
      message(STATUS "simba: ${name} is left out (it needs ${library}, which is not there)")
      return()
    endif()
  endforeach()

  list(TRANSFORM part_SOURCE_DIRS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*.cpp"
    OUTPUT_VARIABLE source_globs)
  list(TRANSFORM part_DIRS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/include/simba/\\1/*.hpp"
    OUTPUT_VARIABLE header_globs)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${source_globs})
  foreach(folder IN LISTS part_LISTED_DIRS)
    list(FILTER sources EXCLUDE REGEX "/${folder}/[^/]+$")
  endforeach()
  file(GLOB headers CONFIGURE_DEPENDS ${header_globs})
  list(APPEND headers ${part_HEADERS})
  if(NOT sources)
    message(STATUS "simba: ${name} is left out (no sources in ${part_SOURCE_DIRS})")
    return()
  endif()

  set(target simba_${name})
  set(type)
  if(part_ALWAYS_STATIC)
    set(type STATIC)
  endif()
  add_library(${target} ${type} ${sources})
  add_library(simba::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    OUTPUT_NAME simba-${name}
    INSTALL_RPATH "$ORIGIN"  # the parts find each other wherever they are installed
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    DEFINE_SYMBOL "")  # static and shared are compiled alike
  simba_compile_options(${target})
  simba_link_as_shared(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # A file set knows how to install the headers and lets CMake check that each stands on its own.
  target_sources(${target} PUBLIC
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PUBLIC ${part_PUBLIC_LINK} PRIVATE ${part_PRIVATE_LINK})
  set(parts ${part_PUBLIC_LINK})
  foreach(optional IN LISTS part_OPTIONAL_PARTS)
    if(TARGET simba::${optional})
      string(TOUPPER "SIMBA_HAS_${optional}" definition)
      target_compile_definitions(${target} PRIVATE ${definition}=1)
      target_link_libraries(${target} PRIVATE simba::${optional})
      list(APPEND parts simba::${optional})
    endif()
  endforeach()
  foreach(library IN LISTS part_HEADER_ONLY)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${library}>)
  endforeach()

  # Remembered for simba_add_umbrella, SimbaInstall and SimbaPkgConfig.
  set(packages ${part_PUBLIC_PACKAGES})
  if(NOT BUILD_SHARED_LIBS)
    list(APPEND packages ${part_PRIVATE_PACKAGES})
  endif()
  list(FILTER parts INCLUDE REGEX "^simba::")
  list(TRANSFORM parts REPLACE "^simba::" "")
  set_target_properties(${target} PROPERTIES
    SIMBA_PACKAGES "${packages}"
    SIMBA_NEEDS_PARTS "${parts}"
    SIMBA_PRIVATE_LINK "${part_PRIVATE_LINK}")
  set_property(GLOBAL APPEND PROPERTY SIMBA_PARTS ${name})
  if(NOT part_NOT_IN_UMBRELLA)
    set_property(GLOBAL APPEND PROPERTY SIMBA_UMBRELLA_PARTS ${name})
  endif()
endfunction()

# simba_find_package(<part> <package> ...) is find_package for a library that only this part needs.
macro(simba_find_package part)
  string(TOUPPER "SIMBA_WITH_${part}" simba_with)
  if(${simba_with})
    find_package(${ARGN})
  endif()
endmacro()

# simba_link_as_shared(<target>) lets a shared library show namespace simba and nothing else, and keeps
# it loaded after dlclose(): a thread that hangs in a name server is let go and may come back.
function(simba_link_as_shared target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND UNIX AND NOT APPLE)
    set(map "${PROJECT_SOURCE_DIR}/cmake/simba.map")
    target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" "LINKER:-z,nodelete")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
  endif()
endfunction()

# simba::simba stands for all parts that were built, but for the testkit: a program in production
# does not want GoogleTest.
function(simba_add_umbrella)
  get_property(parts GLOBAL PROPERTY SIMBA_UMBRELLA_PARTS)
  list(TRANSFORM parts PREPEND simba::)
  add_library(simba_all INTERFACE)
  add_library(simba::simba ALIAS simba_all)
  target_link_libraries(simba_all INTERFACE ${parts})
  get_property(built GLOBAL PROPERTY SIMBA_PARTS)
  message(STATUS "simba: parts to build: ${built}")
endfunction()
