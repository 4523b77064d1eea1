# simba_add_command() makes the command `simba` of cli/: target simba-command, and the library
# simba_cli, which is all of it but main.cpp, for its unit tests.
function(simba_add_command)
  find_package(CLI11 2.1 QUIET)
  if(NOT CLI11_FOUND)
    message(STATUS "simba: the command simba is left out (CLI11_FOUND is not true)")
    return()
  endif()
  if(NOT TARGET simba::config)
    message(STATUS "simba: the command simba is left out (it needs simba::config)")
    return()
  endif()

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cli/*.cpp"
    "${PROJECT_SOURCE_DIR}/cli/*/*.cpp")
  list(REMOVE_ITEM sources "${PROJECT_SOURCE_DIR}/cli/main.cpp")
  if(NOT TARGET simba::http)
    message(STATUS "simba: simba serve is left out (it needs simba::http)")
    list(FILTER sources EXCLUDE REGEX "/cli/(serve/[a-z_]+|commands/serve)\\.cpp$")
  endif()
  add_library(simba_cli STATIC ${sources})
  target_include_directories(simba_cli PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(simba_cli PUBLIC simba::config nlohmann_json::nlohmann_json
    PRIVATE CLI11::CLI11 fmt::fmt Threads::Threads)
  if(TARGET simba::http)
    target_link_libraries(simba_cli PUBLIC simba::http PRIVATE OpenSSL::Crypto)
    target_compile_definitions(simba_cli PUBLIC SIMBA_HAS_HTTP=1)
    simba_embed_texts(cli serve_page.hpp NAMESPACE simba::cli::serve::asset
      FILES cli/serve/page/index.html cli/serve/page/app.js cli/serve/page/app.css
      cli/serve/page/icon.svg)
  endif()

  # These two are most of what each file takes to compile.
  target_precompile_headers(simba_cli PRIVATE <CLI/CLI.hpp> <nlohmann/json.hpp>)

  add_executable(simba-command "${PROJECT_SOURCE_DIR}/cli/main.cpp")
  target_link_libraries(simba-command PRIVATE simba_cli CLI11::CLI11)
  set_target_properties(simba-command PROPERTIES
    OUTPUT_NAME simba
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  foreach(target IN ITEMS simba_cli simba-command)
    simba_compile_options(${target})
  endforeach()
  if(SIMBA_INSTALL)
    install(TARGETS simba-command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT command)
    install(FILES "${PROJECT_SOURCE_DIR}/cli/man/simba.1"
      DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT command)
    install(FILES "${PROJECT_SOURCE_DIR}/cli/completion/simba.bash" RENAME simba
      DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT command)
    install(FILES "${PROJECT_SOURCE_DIR}/cli/completion/_simba"
      DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT command)
  endif()
endfunction()
