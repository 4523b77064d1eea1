# An overlay port of this tree: vcpkg install simba --overlay-ports=packaging/vcpkg
# Never run by vcpkg, which is not packaged in Debian. The ZooKeeper store is left out, as vcpkg has no port of
# its C client.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
  FEATURES
    config SIMBA_WITH_CONFIG
    sqlite SIMBA_WITH_SQLITE
    postgresql SIMBA_WITH_POSTGRESQL
    mysql SIMBA_WITH_MYSQL
    redis SIMBA_WITH_REDIS
    http SIMBA_WITH_HTTP)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DSIMBA_WITH_ZOOKEEPER=OFF
    -DSIMBA_WITH_PROMETHEUS=OFF
    -DSIMBA_BUILD_TESTS=OFF
    -DSIMBA_BUILD_BENCH=OFF
    -DSIMBA_BUILD_EXAMPLES=OFF
    -DSIMBA_BUILD_COMMAND=OFF
    -DSIMBA_BUILD_TESTKIT=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/simba)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
