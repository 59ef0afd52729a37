// SPDX-License-Identifier: Apache-2.0
// What charmrun ++ccs is to ask of a running job, and how the reply is shown. Pure.
#pragma once

#include <string>
#include <vector>

#include "tree/base/result.hpp"
#include "tree/wire/ccs_message.hpp"

namespace charmtree {

/// What is asked, and where.
struct CcsQuestion {
  std::string host, port;
  wire::CcsRequest request;
  bool data_from_stdin = false;
};
/// `words`: HOST:PORT HANDLER [PE [DATA]]; PE: a number, several with commas, or all (0 without any); DATA -:
/// stdin's. Error bad_input.
Result<CcsQuestion> read_ccs_question(const std::vector<std::string>& words);

/// As it is; for a terminal with a newline behind it, and what is no text as a hexadecimal dump.
std::string show_reply(std::string reply, bool on_terminal);

}  // namespace charmtree
