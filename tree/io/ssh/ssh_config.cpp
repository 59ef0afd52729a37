// SPDX-License-Identifier: Apache-2.0
// One member of each group, the one with the longest name, speaks for all. What ssh says about it holds for
// the others word for word, but HostName: where that holds the speaker's own name, theirs takes its place. If
// any other answer holds the speaker's name (UserKnownHostsFile with %h), the group is asked one by one.
#include "tree/io/ssh/ssh_config.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "tree/io/ssh/ssh_ask.hpp"
#include "tree/io/surroundings.hpp"

namespace charmtree::io {

namespace {

constexpr std::string_view kSystemSsh = "/usr/bin/ssh";
constexpr std::string_view kSystemFiles = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2";

using Answer = std::map<std::string, std::vector<std::string>>;

std::string first(const Answer& answer, const std::string& keyword) {
  const auto found = answer.find(keyword);
  return found == answer.end() || found->second.empty() ? std::string() : found->second[0];
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!word.empty()) words.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// True if ssh would say something else about another name of the group, HostName aside.
bool names_the_speaker(const Answer& answer, const std::string& name) {
  for (const char* keyword :
       {"userknownhostsfile", "globalknownhostsfile", "hostkeyalias", "identityagent", "user"}) {
    if (first(answer, keyword).find(name) != std::string::npos) return true;
  }
  return false;
}

Answer parse(std::string_view output) {
  Answer answer;
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(line.size() + 1, output.size()));
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    std::string keyword(line.substr(0, blank));
    for (char& c : keyword) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    answer[std::move(keyword)].emplace_back(line.substr(blank + 1));
  }
  return answer;
}

/// `ssh -G` lists ssh's own default files if the user named none; they are told by their number and their
/// names.
bool are_default_files(const std::vector<std::string>& files) {
  static constexpr std::array<std::string_view, 8> kDefaults = {
      "id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_xmss", "id_dsa", "identity"};
  static constexpr std::size_t kFewest = 4;  // no version lists fewer
  return files.size() >= kFewest && std::all_of(files.begin(), files.end(), [](const std::string& file) {
           return file.starts_with("~/.ssh/") &&
                  std::find(kDefaults.begin(), kDefaults.end(), std::string_view(file).substr(7)) !=
                      kDefaults.end();
         });
}

struct Tokens {
  std::string home, local_user, address, name, user;
  std::uint16_t port = 22;
};

/// `${NAME}` at the beginning of `text`: its value, and how long that is. Nothing: there is none.
std::optional<std::pair<const char*, std::size_t>> variable(std::string_view text) {
  const std::size_t end = text.find('}');
  if (!text.starts_with("${") || end == std::string_view::npos) return {};
  const char* value = std::getenv(std::string{text.substr(2, end - 2)}.c_str());
  if (value == nullptr) return {};
  return std::pair{value, end + 1};
}

/// ssh_config(5), "TOKENS" and "ENVIRONMENT VARIABLES". An unknown one stays as it is: the file is then not
/// found, and the ssh command takes over.
std::string expand(std::string_view text, const Tokens& tokens) {
  std::string out;
  if (text.starts_with("~/")) {
    out = tokens.home;
    text.remove_prefix(1);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const auto value = variable(text.substr(i))) {
      out += value->first;
      i += value->second - 1;
      continue;
    }
    if (text[i] != '%' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    switch (text[++i]) {
      case '%':
        out += '%';
        break;
      case 'd':
        out += tokens.home;
        break;
      case 'h':
        out += tokens.address;
        break;
      case 'i':
        out += std::to_string(getuid());
        break;
      case 'l':
        out += own_host_name();
        break;
      case 'n':
        out += tokens.name;
        break;
      case 'p':
        out += std::to_string(tokens.port);
        break;
      case 'r':
        out += tokens.user;
        break;
      case 'u':
        out += tokens.local_user;
        break;
      default:
        out += '%';
        out += text[i];
    }
  }
  return out;
}

/// The first option that only the ssh command can follow; empty: none.
std::string beyond_libssh2(const Answer& answer) {
  static constexpr std::array<std::pair<const char*, const char*>, 8> kOptions = {
      {{"proxyjump", "ProxyJump"},
       {"proxycommand", "ProxyCommand"},
       {"certificatefile", "CertificateFile"},
       {"pkcs11provider", "PKCS11Provider"},
       {"knownhostscommand", "KnownHostsCommand"},
       {"revokedhostkeys", "RevokedHostKeys"},
       {"bindaddress", "BindAddress"},
       {"bindinterface", "BindInterface"}}};
  for (const auto& [keyword, name] : kOptions) {
    const std::string value = first(answer, keyword);
    if (!value.empty() && value != "none") return name;
  }
  const std::string keys = first(answer, "pubkeyauthentication");
  return keys == "no" || keys == "false" ? "PubkeyAuthentication no" : "";
}

/// ssh_config(5), IdentityAgent.
std::string agent_of(const std::string& value, const Tokens& tokens) {
  if (value.empty() || value == "none") return value;
  if (value == "SSH_AUTH_SOCK") return {};
  if (!value.starts_with('$') || value.starts_with("${")) return expand(value, tokens);
  const char* socket = std::getenv(value.c_str() + 1);
  return socket == nullptr || *socket == '\0' ? "none" : socket;
}

HostKeyPolicy policy(const std::string& strict) {
  if (strict == "accept-new") return HostKeyPolicy::accept_new;
  if (strict == "no" || strict == "off" || strict == "false") return HostKeyPolicy::no_check;
  return HostKeyPolicy::strict;  // yes, ask (nobody is asked)
}

}  // namespace

void SshSettings::apply(Profile& profile) const {
  profile.user = user;
  profile.port = port;
  profile.identity_files = identity_files;
  profile.identities_only = identities_only;
  profile.agent = agent;
  profile.algorithms = algorithms;
  profile.host_keys = host_keys;
  profile.ssh_command_only = ssh_command_only;
}

SshConfig::SshConfig(SshConfigOptions options) : options_(std::move(options)) {}

SshConfigGroups SshConfig::read_files() const {
  SshConfigGroups files;
  if (!options_.config_file.empty()) {
    files.add_file(options_.config_file, options_.home + "/.ssh", options_.home);
  } else {
    files.add_file(options_.home + "/.ssh/config", options_.home + "/.ssh", options_.home);
    files.add_file("/etc/ssh/ssh_config", "/etc/ssh", options_.home);
  }
  return files;
}

std::vector<SshConfig::Group> SshConfig::group(const SshConfigGroups& files,
                                               const std::vector<SshQuery>& queries) {
  std::vector<Group> groups;
  std::unordered_map<std::string, std::size_t> by_key;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const SshQuery& query = queries[i];
    const std::string key = fmt::format("{} {} {}", query.login, query.port, files.key(query.name));
    const auto [found, added] = by_key.emplace(key, groups.size());
    if (added) groups.push_back(Group{{}, i});
    Group& group = groups[found->second];
    group.members.push_back(i);
    if (query.name.size() > queries[group.speaker].name.size()) group.speaker = i;
  }
  return groups;
}

std::vector<std::string> SshConfig::command(const SshQuery& query) const {
  // With ForkAfterAuthentication the ssh command demands a command, with RemoteCommand it refuses one: -N
  // suits both.
  std::vector<std::string> words = {options_.ssh, "-G", "-N"};
  if (!options_.config_file.empty()) words.insert(words.end(), {"-F", options_.config_file});
  if (!query.login.empty()) words.insert(words.end(), {"-l", query.login});
  if (query.port != 0) words.insert(words.end(), {"-p", std::to_string(query.port)});
  words.insert(words.end(), {"--", query.name});
  return words;
}

Result<std::vector<SshConfig::Answer>> SshConfig::run(const std::vector<SshQuery>& queries,
                                                      const std::vector<Group>& groups) const {
  std::vector<std::vector<std::string>> commands;
  commands.reserve(groups.size());
  for (const Group& group : groups) commands.push_back(command(queries[group.speaker]));
  std::vector<Answer> answers;
  for (const CommandAnswer& got : run_commands(commands, options_.limit)) {
    if (!got.finished) {
      return Error(Errc::timed_out, Phase::options,
                   fmt::format("ssh -G gave no answer within {:g} s", seconds(options_.limit)),
                   "is there a slow `Match exec` in ~/.ssh/config?");
    }
    if (got.status != 0) {
      const std::string_view text = std::string_view(got.output).substr(0, got.output.find_first_of("\r\n"));
      return Error(Errc::bad_input, Phase::options, fmt::format("ssh refuses its configuration: {}", text),
                   "correct it, or use ++remote-shell");
    }
    answers.push_back(parse(got.output));
  }
  return answers;
}

Result<SshAnswers> SshConfig::ask(const std::vector<SshQuery>& queries) {
  SshAnswers out;
  out.hosts.resize(queries.size());
  const std::string program = find_program(options_.ssh);
  files_ = program.empty() ? SshConfigGroups() : read_files();
  knows_files_ = program.empty() || program == kSystemSsh || !options_.config_file.empty();
  // To ask ssh takes 5 ms, as long as several logins. Any other ssh than the system's may read other files.
  if (program.empty() || (files_.plain() && program == kSystemSsh && options_.config_file.empty())) {
    if (program.empty())
      out.note = fmt::format("no {} program here: ~/.ssh/config is not read", options_.ssh);
    Answer answer = defaults();
    answer["hashknownhosts"] = {files_.hash_known_hosts() ? "yes" : "no"};
    for (std::size_t i = 0; i < queries.size(); ++i) add(queries[i], queries[i], answer, i, out);
    return out;
  }
  std::vector<Group> groups = group(files_, queries);
  // The second round is for groups whose speaker could not speak for the others.
  for (int round = 0; round < 2 && !groups.empty(); ++round) {
    const Result<std::vector<Answer>> answers = run(queries, groups);
    if (!answers.ok()) return answers.error();
    out.asked += groups.size();
    std::vector<Group> one_by_one;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Group& group = groups[g];
      const SshQuery& speaker = queries[group.speaker];
      const bool alone = names_the_speaker((*answers)[g], speaker.name);
      for (const std::size_t i : group.members) {
        if (alone && queries[i].name != speaker.name) {
          one_by_one.push_back(Group{{i}, i});
        } else {
          add(queries[i], speaker, (*answers)[g], i, out);
        }
      }
    }
    groups = std::move(one_by_one);
  }
  return out;
}

/// ssh has an answer for each option; only what the user says somewhere binds us. What is to come first
/// ("^...") must not be replaced by what comes behind it.
void SshConfig::set_algorithms(const Answer& answer, SshSettings& settings) const {
  for (const AlgorithmOption& option : kAlgorithmOptions) {
    std::string wanted = first(answer, option.keyword);
    if (wanted.empty()) wanted = first(answer, option.former);
    const bool says = !knows_files_ || files_.mention(option.keyword) || files_.mention(option.former);
    if (wanted.empty() || !says) continue;
    const std::string best = wanted.substr(0, wanted.find(','));
    const bool best_only = files_.prefer(option.keyword, best) || files_.prefer(option.former, best);
    std::string& usable = settings.algorithms.*option.member;
    if (!best_only || library_.have(option, best)) usable = library_.of(option, wanted);
    if (!usable.empty() || settings.ssh_command_only) continue;
    settings.ssh_command_only = true;
    settings.why_command = option.name;
  }
}

SshConfig::Answer SshConfig::defaults() const {
  Answer answer;
  answer["user"] = {options_.user};
  answer["userknownhostsfile"] = {fmt::format("{0}/.ssh/known_hosts {0}/.ssh/known_hosts2", options_.home)};
  answer["globalknownhostsfile"] = {std::string(kSystemFiles)};
  return answer;
}

SshSettings SshConfig::settings_of(const Answer& answer, const SshQuery& query,
                                   const std::string& address) const {
  SshSettings settings;
  settings.user = query.login.empty() ? first(answer, "user") : query.login;
  if (settings.user.empty()) settings.user = options_.user;
  const std::string port = query.port != 0 ? std::to_string(query.port) : first(answer, "port");
  std::from_chars(port.data(), port.data() + port.size(), settings.port);
  settings.identities_only = first(answer, "identitiesonly") == "yes";
  settings.host_keys = policy(first(answer, "stricthostkeychecking"));
  settings.why_command = beyond_libssh2(answer);
  settings.ssh_command_only = !settings.why_command.empty();
  settings.name_style = first(answer, "hashknownhosts") == "yes" ? NameStyle::hashed : NameStyle::plain;
  const Tokens tokens{options_.home, options_.user, address, query.name, settings.user, settings.port};
  settings.agent = agent_of(first(answer, "identityagent"), tokens);
  set_algorithms(answer, settings);
  const auto files = split_words(first(answer, "userknownhostsfile"));
  if (!files.empty() && files[0] != "none" && files[0] != "/dev/null")
    settings.known_hosts_file = expand(files[0], tokens);
  const auto identities = answer.find("identityfile");
  if (identities == answer.end() || are_default_files(identities->second)) return settings;
  for (const std::string& file : identities->second) {
    settings.identity_files.push_back(file == "none" ? "/dev/null" : expand(file, tokens));
  }
  return settings;
}

void SshConfig::add(const SshQuery& query, const SshQuery& speaker, const Answer& answer, std::size_t index,
                    SshAnswers& out) {
  SshHost& host = out.hosts[index];
  std::string address = first(answer, "hostname");
  if (address.empty() || same_ignoring_case(address, speaker.name)) {
    address = query.name;
  } else if (query.name != speaker.name) {
    address = replace_all(std::move(address), speaker.name, query.name);
  }
  if (address != query.name) host.address = address;
  SshSettings settings = settings_of(answer, query, address);
  const std::string alias = first(answer, "hostkeyalias");
  const std::string files = first(answer, "userknownhostsfile") + " " + first(answer, "globalknownhostsfile");
  KnownKeys known = known_hosts(files).lookup_host(address, settings.port, alias);
  const bool any = std::any_of(known.keys.begin(), known.keys.end(),
                               [](const HostKey& key) { return key.type != kRevokedMark; });
  if (!settings.ssh_command_only && (known.too_many || (known.certificate_authority && !any))) {
    settings.ssh_command_only = true;
    settings.why_command =
        known.too_many ? "too many known host keys" : "a @cert-authority line in known_hosts";
  }
  host.known_name = alias.empty() ? known_hosts_name(address, settings.port) : alias;
  host.known_keys = std::move(known.keys);
  host.known_key_revoked = known.revoked;
  // The newest settings first: neighbours in a nodelist mostly agree.
  const auto same = std::find(out.settings.rbegin(), out.settings.rend(), settings);
  if (same == out.settings.rend()) {
    host.settings = static_cast<std::uint32_t>(out.settings.size());
    out.settings.push_back(std::move(settings));
  } else {
    host.settings = static_cast<std::uint32_t>(out.settings.rend() - same - 1);
  }
}

const KnownHosts& SshConfig::known_hosts(const std::string& files) {
  const auto [found, added] = known_hosts_.try_emplace(files);
  if (added) {
    Tokens tokens;
    tokens.home = options_.home;
    for (const std::string& file : split_words(files)) {
      if (file != "none") found->second.add_file(expand(file, tokens));
    }
  }
  return found->second;
}

}  // namespace charmtree::io
