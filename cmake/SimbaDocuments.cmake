# README and docs are tested: their C++ snippets compile, their links lead somewhere, the tests they
# name exist, and what they say of the command is in its help. See tests/documents/check.py.
find_program(SIMBA_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(SIMBA_PYTHON NAMES python3)
mark_as_advanced(SIMBA_PYTHON)
if(NOT SIMBA_PYTHON)
  message(STATUS "simba: the tests of the documents are left out (they need python3)")
  return()
endif()

function(simba_add_document_test name)
  add_test(NAME Documents.${name}
    COMMAND "${SIMBA_PYTHON}" "${PROJECT_SOURCE_DIR}/tests/documents/check.py" ${ARGN})
  set_tests_properties(Documents.${name} PROPERTIES LABELS documents TIMEOUT 300)
endfunction()

simba_add_document_test(EveryCppSnippetCompiles snippets --compiler "${CMAKE_CXX_COMPILER}"
  --include "${PROJECT_SOURCE_DIR}/include" --work "${PROJECT_BINARY_DIR}/document-snippets")
set_tests_properties(Documents.EveryCppSnippetCompiles PROPERTIES RESOURCE_LOCK compiler PROCESSORS 2)
simba_add_document_test(EveryLinkLeadsSomewhere links)
simba_add_document_test(EveryTestNamedExists tests)
simba_add_document_test(EveryFileAndClassExists names)
simba_add_document_test(ReleaseIsNamedEverywhere release)
if(TARGET simba-command)
  simba_add_document_test(NameOnlyWhatTheCommandHas command --simba "$<TARGET_FILE:simba-command>")
endif()
find_program(SIMBA_PROMTOOL NAMES promtool HINTS "${PROJECT_SOURCE_DIR}/build/prometheus/usr/bin")
mark_as_advanced(SIMBA_PROMTOOL)
if(SIMBA_PROMTOOL)
  add_test(NAME Documents.AlertsFireWhenTheyShould
    COMMAND "${SIMBA_PROMTOOL}" test rules alerts_test.yml
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}/examples/prometheus")
  set_tests_properties(Documents.AlertsFireWhenTheyShould PROPERTIES LABELS documents TIMEOUT 60)
else()
  message(STATUS "simba: the test of the alerts is left out (it needs promtool)")
endif()
