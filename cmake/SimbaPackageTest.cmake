# The tests of what a user gets: tests/package, run by cmake/PackageTest.cmake.

# simba-shared: the parts as shared libraries, linked from the objects of the static ones, so that the
# tests see both kinds in the time of one. All a part uses must be in what it links.
if(NOT BUILD_SHARED_LIBS)
  add_custom_target(simba-shared)
  get_property(parts GLOBAL PROPERTY SIMBA_UMBRELLA_PARTS)
  foreach(part IN LISTS parts)
    set(target simba_${part}_shared)
    get_target_property(libraries simba_${part} LINK_LIBRARIES)
    set(needed ${libraries})
    list(FILTER needed INCLUDE REGEX "^simba::")
    list(TRANSFORM needed REPLACE "^simba::(.*)$" "simba_\\1_shared")
    list(FILTER libraries EXCLUDE REGEX "^simba::")
    add_library(${target} SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:simba_${part}>)
    target_link_libraries(${target} PUBLIC ${needed} PRIVATE ${libraries})
    target_link_options(${target} PRIVATE LINKER:-z,defs)
    set_target_properties(${target} PROPERTIES
      OUTPUT_NAME simba-${part}
      LINKER_LANGUAGE CXX
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/package-shared/lib"
      VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    simba_link_as_shared(${target})
    add_dependencies(simba-shared ${target})
  endforeach()
endif()

function(simba_add_package_test name)
  add_test(NAME package.${name}
    COMMAND "${CMAKE_COMMAND}"
      -D "test=${name}"
      -D "build_dir=${PROJECT_BINARY_DIR}" -D "source_dir=${PROJECT_SOURCE_DIR}"
      -D "generator=${CMAKE_GENERATOR}" -D "cxx=${CMAKE_CXX_COMPILER}"
      -D "launcher=${CMAKE_CXX_COMPILER_LAUNCHER}" -D "version=${PROJECT_VERSION}"
      -D "lib=${CMAKE_INSTALL_LIBDIR}" -D "shared=${BUILD_SHARED_LIBS}"
      -D "has_command=$<TARGET_EXISTS:simba-command>"
      -D "command_dir=${CMAKE_INSTALL_BINDIR}"
      -D "hardened=$<AND:$<BOOL:${SIMBA_HARDENING}>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>"
      -D "command=$<$<TARGET_EXISTS:simba-command>:$<TARGET_FILE:simba-command>>"
      -D "CMAKE_CTEST_COMMAND=${CMAKE_CTEST_COMMAND}" -D "CMAKE_CPACK_COMMAND=${CMAKE_CPACK_COMMAND}"
      -P "${PROJECT_SOURCE_DIR}/cmake/PackageTest.cmake")
  # Each keeps all processors busy by itself: one at a time.
  set_tests_properties(package.${name} PROPERTIES TIMEOUT 300 LABELS package
    RESOURCE_LOCK compiler PROCESSORS 2 COST 95)
  set_property(GLOBAL APPEND PROPERTY SIMBA_COMPUTING_TESTS package.${name})
endfunction()

simba_add_package_test(an_installed_simba_can_be_found_and_used)
simba_add_package_test(pkg_config_leads_to_the_archives)
simba_add_package_test(shared_parts_show_namespace_simba_alone)
simba_add_package_test(public_headers_compile_without_warnings)
simba_add_package_test(a_store_that_is_off_needs_nothing)
simba_add_package_test(simba_can_be_a_part_of_another_build)
simba_add_package_test(simba_can_be_fetched_by_another_build)
simba_add_package_test(debian_packages_can_be_used)
simba_add_package_test(optimized_builds_are_hardened)
simba_add_package_test(a_system_that_is_not_supported_is_refused)
simba_add_package_test(mariadb_is_found_beside_mysql)
set_tests_properties(package.debian_packages_can_be_used PROPERTIES
  SKIP_REGULAR_EXPRESSION "skipped: there is no dpkg-deb")
# They compile the library again.
set_tests_properties(package.simba_can_be_a_part_of_another_build
  package.simba_can_be_fetched_by_another_build PROPERTIES TIMEOUT 900)
# They use what this one installs.
set_tests_properties(package.an_installed_simba_can_be_found_and_used PROPERTIES
  FIXTURES_SETUP package.installed)
set_tests_properties(package.pkg_config_leads_to_the_archives
  package.shared_parts_show_namespace_simba_alone
  package.public_headers_compile_without_warnings PROPERTIES FIXTURES_REQUIRED package.installed)
