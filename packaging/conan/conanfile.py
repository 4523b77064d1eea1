"""A Conan 2 recipe for the library:  conan create packaging/conan

The libraries behind the stores are those of the system (make setup installs them on Debian), so the
recipe requires none from Conan. The options choose the stores.
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

# And with "config" and "http" what else needs a library.
STORES = ("sqlite", "postgresql", "mysql", "redis", "zookeeper", "config", "http")


class SimbaConan(ConanFile):
    name = "simba"
    license = "Apache-2.0"
    description = "Distributed mutual exclusion, leader election and leader-only scheduling"
    topics = ("mutex", "lock", "leader-election", "distributed")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], **{f"with_{store}": [True, False] for store in STORES}}
    default_options = {"shared": False, **{f"with_{store}": True for store in STORES}}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "simba", "version.hpp"))
        self.version = re.search(r'version = "([0-9.]+)"', header).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Simba needs Linux")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCH", "EXAMPLES", "COMMAND", "TESTKIT"):
            toolchain.cache_variables[f"SIMBA_BUILD_{part}"] = False
        for store in STORES:
            wanted = bool(self.options.get_safe(f"with_{store}"))
            toolchain.cache_variables[f"SIMBA_WITH_{store.upper()}"] = wanted
        toolchain.cache_variables["SIMBA_WITH_PROMETHEUS"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package that CMake installs knows its parts and what each of them links.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "simba")]
