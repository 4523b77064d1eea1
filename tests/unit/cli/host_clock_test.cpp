#include "cli/host_clock.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"

namespace simba::cli {
namespace {

using engine::Finding;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Weight = Finding::Weight;
namespace fs = std::filesystem;

/// A host's files, as far as time services matter.
class HostClock : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const fs::path path = host_.path() / file;
    fs::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << text;
  }

  void run(int pid, const std::string& name, const std::string& command_line = "") {
    const std::string folder = "proc/" + std::to_string(pid);
    write(folder + "/comm", name + '\n');
    write(folder + "/cmdline", command_line);
  }

  std::vector<TimeService> services() const { return time_services(host_.path()); }

  std::vector<Finding> findings(int clock_drift_ppm = 500,
                                LeaseClock clock = LeaseClock::wall) const {
    return clock_findings(services(), std::nullopt, clock_drift_ppm, clock);
  }

  std::string only_text() const {
    const auto all = findings(500, LeaseClock::steady);
    return all.size() == 1 ? all[0].text : std::to_string(all.size()) + " findings";
  }

 private:
  support::TemporaryFolder host_;
};

TEST_F(HostClock, SaysNothingWhereNoTimeServiceIsSeen) {
  EXPECT_THAT(findings(), IsEmpty());
  run(1, "init");
  run(77, "chronyd-helper");
  write("etc/chrony/chrony.conf", "makestep 1 -1\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(HostClock, WarnsOfChronysDefaultSlewRate) {
  run(7, "chronyd", std::string{"/usr/sbin/chronyd\0-F\0001\0", 23});
  write("etc/chrony/chrony.conf", "pool 2.debian.pool.ntp.org iburst\nmakestep 1 3\n");
  const auto all = findings();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].weight, Weight::warning);
  EXPECT_THAT(all[0].text,
              AllOf(HasSubstr("chrony may slew this host's clock at 83333 ppm"),
                    HasSubstr("maxslewrate is not set in /etc/chrony/chrony.conf"),
                    HasSubstr("clock-drift-ppm, 500"), HasSubstr("set maxslewrate 200")));
  EXPECT_THAT(all[0].text, Not(HasSubstr("set clock-drift-ppm"))) << "nothing allowed covers it";
}

TEST_F(HostClock, TakesASlewRateThatNoKernelAllowsForTheGreatest) {
  run(7, "chronyd");
  write("etc/chrony/chrony.conf", "maxslewrate 1e300\n");
  EXPECT_THAT(only_text(), HasSubstr("at 100000 ppm (maxslewrate 1e+300)"));
}

TEST_F(HostClock, IsContentWithASlewRateThatTheAllowanceCoversOnTwoHosts) {
  run(7, "chronyd");
  write("etc/chrony/chrony.conf", "  MaxSlewRate\t250\r\n");
  EXPECT_THAT(findings(500), IsEmpty());
  EXPECT_THAT(findings(400), SizeIs(1));
  write("etc/chrony/chrony.conf", "maxslewrate 500\n");
  EXPECT_THAT(only_text(), AllOf(HasSubstr("at 500 ppm (maxslewrate 500)"),
                                 HasSubstr("or set clock-drift-ppm to 1000")));
  EXPECT_THAT(findings(1'000), IsEmpty());
}

TEST_F(HostClock, ReadsWhatChronysConfigurationIncludesAndTheLastSettingCounts) {
  run(7, "chronyd");
  write("etc/chrony/chrony.conf",
        "# maxslewrate 1\n! maxslewrate 2\nmaxslewrate 1000\nconfdir /etc/chrony/conf.d\n"
        "include /etc/more/*.part\n");
  write("etc/chrony/conf.d/a.conf", "maxslewrate 300\n");
  write("etc/chrony/conf.d/ignored", "maxslewrate 5\n");
  EXPECT_EQ(services().at(0).slew_ppm, 300);
  write("etc/more/b.part", "maxslewrate 200\nmakestep 0.1 -1\n");
  EXPECT_EQ(services().at(0).slew_ppm, 200);
  EXPECT_EQ(services().at(0).step_reason, "makestep 0.1 -1");
  write("etc/more/c.part", "makestep 0.1 3\n");
  EXPECT_EQ(services().at(0).step_reason, "");
}

TEST_F(HostClock, ReadsTheConfigurationThatTheCommandLineNames) {
  run(7, "chronyd", std::string{"chronyd\0-f\0/srv/c.conf\0", 23});
  write("etc/chrony/chrony.conf", "maxslewrate 100\n");
  write("srv/c.conf", "maxslewrate 150\n");
  EXPECT_EQ(services().at(0).slew_ppm, 150);
}

TEST_F(HostClock, SurvivesConfigurationsThatMakeNoSense) {
  run(7, "chronyd", std::string{"\0\0-f", 4});
  for (const char* const text :
       {"", "maxslewrate", "maxslewrate much\n", "maxslewrate -5\n", "maxslewrate nan\n",
        "maxslewrate 1e999\n", "makestep\nmakestep 1\nmakestep 1 x\n", "include\nconfdir\n"}) {
    write("etc/chrony/chrony.conf", text);
    EXPECT_EQ(services().at(0).slew_ppm, 83'333.333) << text;
    EXPECT_EQ(services().at(0).step_reason, "") << text;
  }
  write("etc/chrony/chrony.conf", std::string(10'000'000, 'x') + "\nmaxslewrate 1\n");
  EXPECT_EQ(services().at(0).slew_ppm, 83'333.333) << "it must not be read to its end";
  write("etc/chrony/chrony.conf", "include /etc/chrony/chrony.conf\nmaxslewrate 9\n");
  EXPECT_EQ(services().at(0).slew_ppm, 9) << "it includes itself";
}

TEST_F(HostClock, KnowsWhenNtpdSteps) {
  run(7, "ntpd", std::string{"/usr/sbin/ntpd\0-p\0/run/ntpd.pid\0", 32});
  EXPECT_THAT(only_text(), AllOf(HasSubstr("ntpd may slew this host's clock at 500 ppm"),
                                 HasSubstr("set clock-drift-ppm to 1000")));
  EXPECT_THAT(services().at(0).step_reason, HasSubstr("128 ms"));
  write("etc/ntp.conf", "tinker panic 0 step 0\n");
  EXPECT_EQ(services().at(0).step_reason, "");
  write("etc/ntp.conf", "tinker step 0.2\n");
  EXPECT_NE(services().at(0).step_reason, "");
  run(7, "ntpd", std::string{"/usr/sbin/ntpd\0-x\0", 18});
  write("etc/ntp.conf", "");
  EXPECT_EQ(services().at(0).step_reason, "");
}

TEST_F(HostClock, WarnsOfTimesyncd) {
  run(7, "systemd-timesyn");
  const auto all = findings();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].text, AllOf(HasSubstr("systemd-timesyncd may slew this host's clock at 50000"),
                                 HasSubstr("use chrony"), HasSubstr("clock-drift-ppm to 95239")));
  EXPECT_EQ(all[1].weight, Weight::note);
  EXPECT_THAT(all[1].text, HasSubstr("offsets above 400 ms; that cannot be prevented"));
  EXPECT_THAT(findings(95'239, LeaseClock::steady), IsEmpty());
}

TEST_F(HostClock, CountsAServiceWithSeveralProcessesOnce) {
  run(7, "chronyd");
  run(8, "chronyd");
  EXPECT_THAT(findings(), SizeIs(1));
}

TEST(KernelClock, IsReadFromFrequencyTickAndPhase) {
  timex kernel{};
  kernel.tick = 10'000;
  EXPECT_EQ(clock_ppm(kernel), 0);
  kernel.freq = -12 * 65'536;
  EXPECT_EQ(clock_ppm(kernel), -12);
  kernel.tick = 10'009;
  EXPECT_EQ(clock_ppm(kernel), 888);
  kernel.offset = 400'000'000;  // of a discipline that is off
  EXPECT_EQ(clock_ppm(kernel), 888);
  kernel.status = STA_PLL | STA_NANO;
  kernel.constant = 1;
  EXPECT_NEAR(clock_ppm(kernel), 50'888, 0.001);
  kernel.status = STA_PLL;
  kernel.offset = 400'000;
  EXPECT_NEAR(clock_ppm(kernel), 50'888, 0.001);
}

TEST(KernelClock, IsWorthAWarningWhereItExceedsTheAllowance) {
  EXPECT_THAT(clock_findings({}, 499, 500, LeaseClock::wall), IsEmpty());
  EXPECT_THAT(clock_findings({}, std::nullopt, 500, LeaseClock::wall), IsEmpty());
  for (const double ppm : {501.0, -501.0}) {
    const auto all = clock_findings({}, ppm, 500, LeaseClock::steady);
    ASSERT_THAT(all, SizeIs(1));
    EXPECT_EQ(all[0].weight, Weight::warning);
    EXPECT_THAT(all[0].text, HasSubstr(ppm > 0 ? "+501 ppm" : "-501 ppm"));
  }
}

}  // namespace
}  // namespace simba::cli
