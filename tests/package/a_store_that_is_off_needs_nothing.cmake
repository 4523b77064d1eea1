# Only configured: the build files tell all that would be linked.
set(stores_and_libraries
  "sqlite=SQLite3|sqlite3\\.so|lsqlite3" "postgresql=PostgreSQL|libpq|-lpq"
  "mysql=MariaDB|mariadb" "redis=[Hh]iredis"
  # MySQL's store needs OpenSSL, too, where its library leaves certificates to us, and so does HTTP.
  "redis_mysql_http=libssl|OpenSSL"
  "zookeeper=ZooKeeper|zookeeper_mt" "config=yaml-cpp" "prometheus=prometheus-cpp")
fresh_folder(folder)
foreach(entry IN LISTS stores_and_libraries)
  string(REGEX MATCH "^[a-z_]+" store "${entry}")
  string(REGEX REPLACE "^[a-z_]+=" "" libraries "${entry}")
  string(REPLACE "_" ";" parts "${store}")
  set(options)
  foreach(part IN LISTS parts)
    string(TOUPPER "SIMBA_WITH_${part}" option)
    list(APPEND options -D ${option}=OFF)
  endforeach()
  set(build "${folder}/${store}")
  run("${CMAKE_COMMAND}" -S "${source_dir}" -B "${build}" -G Ninja -D "CMAKE_CXX_COMPILER=${cxx}"
    ${options} --log-level=WARNING)
  file(GLOB files "${build}/build.ninja" "${build}/package/*.pc" "${build}/package/simba-*.cmake"
    "${build}/CPackConfig.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    # Files that are there for whoever wants them.
    string(REGEX REPLACE "Find[A-Za-z]+\\.cmake" "" text "${text}")
    refuse_libraries("${file}" "${text}" "${libraries}")
  endforeach()
  if(EXISTS "${build}/package/simba-${store}.pc")
    message(FATAL_ERROR "simba-${store}.pc is there although it is off")
  endif()
endforeach()
