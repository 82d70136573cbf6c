// SPDX-License-Identifier: Apache-2.0
// cuvmm explain-crash FILE
#include <memory>

#include "recorder/last_calls/reading.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/crash/crash_json.h"
#include "tools/crash/crash_text.h"
#include "tools/crash/xid.h"

namespace cuvmm::tools {

namespace {

struct CrashSettings {
  std::string file, address, xid;
  std::size_t calls = 30;
  bool json = false;
};

// An address that the user gives replaces the file's address.
void take_address(const CrashSettings& settings, last_calls::Reading& reading) {
  if (!settings.address.empty()) {
    reading.address = parse_address(settings.address);
    if (!reading.address) {
      throw UsageError{"--address " + settings.address +
                       " is no address: expected one such as 0x7f0000200000"};
    }
  } else if (!settings.xid.empty()) {
    reading.address = address_of_xid(settings.xid);
    if (!reading.address) {
      throw UsageError{
          "--xid: the line names no address: expected the kernel's whole line, such as \"NVRM: Xid "
          "(PCI:0000:05:00): 31, ... faulted @ 0x7f6a_2c000000. ...\""};
    }
  }
}

int explain(const CrashSettings& settings) {
  last_calls::Reading reading;
  const std::string problem = last_calls::read_file(settings.file, reading);
  if (!problem.empty()) {
    print_error("cuvmm explain-crash: {}: {}\n", settings.file, problem);
    return kExitFailure;
  }
  take_address(settings, reading);
  if (settings.json) {
    print_output(
        "{}\n",
        crash_json(reading, settings.calls).dump(1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_output("{}", crash_text(reading, settings.calls));
  }
  return 0;
}

}  // namespace

void add_explain_crash(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "explain-crash", "Show the last calls of a process that crashed, from the file that it left");
  auto settings = std::make_shared<CrashSettings>();
  command->add_option("FILE", settings->file, "A .ring file; cuvmm run names it, or CUVMM_RING")
      ->required();
  command->add_option("--address", settings->address, "Where the device's fault was")
      ->type_name("ADDRESS");
  command
      ->add_option("--xid", settings->xid, "The line that the kernel logged of it, for its address")
      ->type_name("LINE");
  command->add_option("--calls", settings->calls, "How many of the last calls to list")
      ->type_name("N")
      ->check(whole_number(0, 4096))
      ->default_val(std::size_t{30});
  command->add_flag("--json", settings->json, "Write JSON");
  command->footer(
      "Examples:\n"
      "  cuvmm explain-crash crashes/71-1700000000.5.ring\n"
      "  cuvmm explain-crash 71.ring --xid \"$(dmesg | grep 'NVRM: Xid' | tail -1)\"\n"
      "  cuvmm run --ring crashes -- ./app    keeps the last calls of each process\n");
  command->allow_extras();
  command->callback([command, settings, &line] {
    refuse_unexpected(*command);
    line.exit_code = explain(*settings);
  });
}

}  // namespace cuvmm::tools
