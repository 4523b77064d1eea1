# simba_embed_texts(<part> <header> NAMESPACE <namespace> FILES <file>...) writes a header with one
# constant for each text file, so that programs need no files beside them: postgresql.sql becomes
# std::string_view postgresql_sql. The header is included as <header>.
function(simba_embed_texts part header)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAMESPACE" "FILES")
  if(NOT TARGET simba_${part})
    return()
  endif()
  set(content "// Made by CMake from the files named below.\n#pragma once\n\n#include <string_view>\n\nnamespace ${arg_NAMESPACE} {\n")
  foreach(file IN LISTS arg_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${file}")
    file(READ "${PROJECT_SOURCE_DIR}/${file}" text)
    cmake_path(GET file FILENAME name)
    string(MAKE_C_IDENTIFIER "${name}" identifier)
    string(APPEND content "\n// ${file}\ninline constexpr std::string_view ${identifier} = R\"~~(${text})~~\";\n")
  endforeach()
  string(APPEND content "\n}  // namespace ${arg_NAMESPACE}\n")
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/generated/${header}" CONTENT "${content}")
  target_include_directories(simba_${part} PRIVATE "${PROJECT_BINARY_DIR}/generated")
endfunction()

# simba_add_schema(<part> <file>...) gives a part its DDL: as header "<part>_schema.hpp", with
# simba::sql::schema::<name>_sql for each file and the folder they are installed to as
# macro SIMBA_SCHEMA_FOLDER.
function(simba_add_schema part)
  simba_embed_texts(${part} ${part}_schema.hpp NAMESPACE simba::sql::schema FILES ${ARGN})
  if(TARGET simba_${part})
    set(folder "${CMAKE_INSTALL_FULL_DATADIR}/simba/schema")
    target_compile_definitions(simba_${part} PRIVATE SIMBA_SCHEMA_FOLDER="${folder}")
    if(SIMBA_INSTALL)
      install(FILES ${ARGN} DESTINATION "${CMAKE_INSTALL_DATADIR}/simba/schema" COMPONENT command)
    endif()
  endif()
endfunction()
