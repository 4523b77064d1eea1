# Run by ctest: installs the build into a scratch prefix and builds and runs tests/package there.
set(work "${build_dir}/package-test")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${build_dir}" --prefix "${work}/prefix")
run("${CMAKE_COMMAND}" -S "${source_dir}/tests/package" -B "${work}/build" -G "${generator}"
  -D "CMAKE_CXX_COMPILER=${cxx}" -D "CMAKE_PREFIX_PATH=${work}/prefix")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${work}/build" --output-on-failure --no-tests=error)
