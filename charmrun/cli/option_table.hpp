// SPDX-License-Identifier: Apache-2.0
// The one table of options: parsing, the ++no- forms, `given twice`, ++help and the guesses in error messages
// all come from it. To add an option, add a member to a part of Options (unless nothing is done with it) and
// a row here; a mode: an enumerator and a row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "charmrun/cli/options.hpp"

namespace charmtree {

/// The headings of ++help, in its order.
enum class OptionTopic : std::uint8_t { counts, hosts, launch, program, time, talk, ccs, debug, resize };
inline constexpr std::uint8_t kOptionTopicCount = 9;
std::string_view title(OptionTopic topic);

enum class OptionKind : std::uint8_t {
  flag,
  integer,
  string,
  command,
  optional_command,
  seconds,
  optional_seconds,
  rate,
  host_failure,
  failure,
  overruling_flag,
  optional_integer,
  unused,
  binding,
  variables,
  input_target,
  byte_size,
  hang_action,
  pmi,
  resource_manager,
  started_by,
  env_like
};

/// For options that are refused or ignored. Their values are checked all the same.
enum class NoMember : std::uint8_t { flag, integer, string, text };

/// A member of Options or of one of its parts.
template <class T>
struct OptionMember {
  T& (*in)(Options& options) = nullptr;
  const T& (*of)(const Options& options) = nullptr;
  friend bool operator==(const OptionMember&, const OptionMember&) = default;
};

/// The member that an option sets, if any. Its type is the option's kind, in the order of OptionKind.
using OptionTarget =
    std::variant<OptionMember<bool>, OptionMember<std::uint32_t>, OptionMember<std::string>,
                 OptionMember<Command>, OptionMember<std::optional<Command>>, OptionMember<Duration>,
                 OptionMember<std::optional<Duration>>, OptionMember<LoginRate>,
                 OptionMember<wire::OnHostFailure>, OptionMember<wire::OnFailure>,
                 OptionMember<std::optional<bool>>, OptionMember<std::optional<std::uint32_t>>, NoMember,
                 OptionMember<BindUnit>, OptionMember<Variables>, OptionMember<std::optional<InputTarget>>,
                 OptionMember<ByteSize>, OptionMember<HangAction>, OptionMember<Pmi>,
                 OptionMember<ResourceManager>, OptionMember<StartedBy>, OptionMember<wire::EnvLike>>;

struct OptionRow {
  std::string_view name;  // without ++; a one-letter name has a + form too
  OptionTopic topic;
  OptionTarget target;
  std::string_view value;         // what ++help calls the value: "FILE"; empty for flags
  std::string_view default_text;  // empty: nothing to say
  std::string_view help;
  std::uint32_t low = 0;  // integers: bounds, both inclusive
  std::uint32_t high = 0;

  OptionKind kind() const { return static_cast<OptionKind>(target.index()); }
  /// It has a ++no- form and no value.
  bool is_flag() const {
    return kind() == OptionKind::flag || kind() == OptionKind::overruling_flag ||
           target == OptionTarget{NoMember::flag};
  }
  /// It may be given several times, and each counts.
  bool is_repeatable() const { return kind() == OptionKind::variables; }
};

std::span<const OptionRow> option_table();

/// A mode other than run: counts only as the first word of the command line, and needs no program.
struct ModeRow {
  std::string_view name;  // without ++
  Mode mode;
  std::string_view words;  // what ++help shows behind the name
  std::string_view help;
  /// Of modes that are about jobs that run already, and start none: the options that mean something with it,
  /// but for those that always do.
  std::optional<std::string_view> of_running = {};
};

std::span<const ModeRow> mode_table();

/// The row of that name, or nullptr.
const ModeRow* find_mode(std::string_view name);
/// Without ++; of `run` "run".
std::string_view name(Mode mode);
/// It takes the number of a job, and starts nothing.
bool is_about_running_jobs(Mode mode);

/// Whose an option is where several programs run over one tree.
enum class SessionPart : std::uint8_t {
  tree,     // ++session's
  run,      // ++in's
  both,     // each has its own
  neither,  // not to be had in a session
};
SessionPart session_part(const OptionRow& row);

/// False: with that mode the option could only be ignored. Sessions: see session_part.
bool has_meaning(const OptionRow& row, Mode mode);

/// `word` is one of those in `words`, which have blanks between them, as tables write several names.
bool has_word(std::string_view words, std::string_view word);

/// The row of that name, or nullptr.
const OptionRow* find_option(std::string_view name);

/// What a flag is set to, or the text of a value.
struct OptionValue {
  bool on = true;
  std::string_view text;
};

/// Sets the row's member. Error (Errc::bad_input, Phase::options) if the text is no such value or out of
/// bounds.
Result<void> set_option(const OptionRow& row, const OptionValue& value, Options& options);

/// Gives the row's member the value that it has in `from`.
void copy_option(const OptionRow& row, const Options& from, Options& to);

/// The name of the option that `word` probably meant, without ++; empty if none is near.
std::string_view guess_option(std::string_view word);

}  // namespace charmtree
