# Says how many processors each test of a program keeps busy. ctest has found the tests only when it
# reads the file.
function(simba_use_processors target count)
  set(file "${PROJECT_BINARY_DIR}/${target}-processors.cmake")
  file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [=[
if(@target@_TESTS)
  set_tests_properties(${@target@_TESTS} PROPERTIES PROCESSORS @count@)
endif()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()
