# Run by cpack on what it has installed into a folder of its own: archives for others need no debug
# information. (CPACK_STRIP_FILES knows programs and shared libraries only.)
file(GLOB_RECURSE archives "${CPACK_TEMPORARY_DIRECTORY}/*.a")
find_program(strip strip)
if(archives AND strip)
  execute_process(COMMAND "${strip}" --strip-debug ${archives} COMMAND_ERROR_IS_FATAL ANY)
endif()
