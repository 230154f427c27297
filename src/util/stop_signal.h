#pragma once

#include <string>

namespace batchplus {

/// What a second SIGINT, SIGTERM or SIGHUP does.
enum class SecondSignal {
  /// Ends the process at once, with exit code 128 + signal.
  kExits,
  /// Is only counted.
  kIsCounted,
};

/// From now on SIGINT, SIGTERM and SIGHUP (unless nohup has it ignored) ask the program to stop instead of
/// ending it.
void watch_stop_signals(SecondSignal second);

/// The first of them that has arrived, else 0.
int stop_signal();

/// How many have arrived.
int stop_signal_count();

/// "SIGINT".
std::string signal_name(int signal);

/// SIGTERM will arrive when the process that started this one ends.
void stop_with_parent();

}  // namespace batchplus
