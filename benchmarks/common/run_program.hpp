// SPDX-License-Identifier: MIT
#pragma once
// The frame of a program: options, errors, exit status.

#include <hetsched/core/error.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

namespace benchmarks {

/// main: parses, runs, and answers bad input with one line and status 2.
template <class Run>
int run_program(char const* name, CLI::App& app, int argc, char** argv, Run&& run) {
  try {
    app.parse(argc, argv);
    run();
    return 0;
  } catch (CLI::CallForHelp const& help) {
    return app.exit(help);
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 2;
  } catch (hetsched::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

} // namespace benchmarks
