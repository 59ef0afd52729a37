// SPDX-License-Identifier: Apache-2.0
#include "tree/io/host/python_imports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tree/base/join.hpp"
#include "tree/io/executable.hpp"
#include "tree/overlay/launch_failure.hpp"

namespace charmtree::io {

namespace {

/// Its arguments: -m or -, then a module or a script. It writes as loaders do, which missing_libraries reads.
constexpr const char* kSearch = R"(
import ast, importlib.util, os, sys
changes = (b'sys.path', b'meta_path', b'path_hooks', b'addsitedir')
def reads(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except (OSError, TypeError):
        return b''
def changes_path(name):
    spec = importlib.util.find_spec(name)
    folder = os.path.abspath(sys.path[0])
    origin = spec.origin if spec.has_location else None
    return origin is not None and os.path.abspath(origin).startswith(folder + os.sep) and any(
        each in reads(origin) for each in changes)
kind, name = sys.argv[1:3]
wanted = []
if kind == '-m':
    wanted = [name.split('.')[0]]
else:
    try:
        with open(name, 'rb') as file:
            text = file.read()
        tree = ast.parse(text, name)
    except (OSError, SyntaxError, ValueError) as error:
        line = getattr(error, 'lineno', None)
        at = ' (line %d)' % line if line else ''
        print('unreadable: ' + (getattr(error, 'strerror', None) or getattr(error, 'msg', None) or str(error)) + at)
        sys.exit(1)
    if sys.path[:1] == ['']:
        sys.path[0] = os.path.dirname(os.path.realpath(name))
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if any(each in line for each in changes):
            break
    else:
        number = len(lines) + 1
    for node in tree.body:
        if node.lineno >= number:
            break
        if isinstance(node, ast.Import):
            wanted += [each.name.split('.')[0] for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            wanted.append(node.module.split('.')[0])
for each in wanted:
    try:
        if importlib.util.find_spec(each) is None:
            print('\t%s => not found' % each)
        elif changes_path(each):
            break
    except Exception:
        pass
)";
constexpr std::string_view kUnreadable = "unreadable: ";

bool is_python(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

/// Options by which modules are found elsewhere; others do not matter here.
bool changes_path(const std::string& option) {
  return option.size() > 1 && option.find_first_not_of("IEsSP", 1) == std::string::npos;
}

ImportSearch search_of(std::string interpreter, std::vector<std::string> options, const std::string& kind,
                       const std::string& subject) {
  ImportSearch search{std::move(interpreter), std::move(options), subject};
  search.arguments.insert(search.arguments.begin(), search.interpreter);
  search.arguments.insert(search.arguments.end(), {"-c", kSearch, kind, subject});
  return search;
}

}  // namespace

std::optional<ImportSearch> import_search(const std::string& file,
                                          const std::vector<std::string>& arguments) {
  if (!is_python(file)) {
    const std::string interpreter = python_of_script(file);
    if (interpreter.empty()) return {};
    return search_of(interpreter, {}, "-", file);
  }
  std::vector<std::string> options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool last = i + 1 == arguments.size();
    if (!word.starts_with('-')) return search_of(file, std::move(options), "-", word);
    if (word == "-m" && !last) return search_of(file, std::move(options), "-m", arguments[i + 1]);
    if (word == "-" || word.starts_with("-c") || last) return {};
    if (word == "-W" || word == "-X") ++i;
    if (changes_path(word)) options.push_back(word);
  }
  return {};
}

std::optional<Error> import_failure(const ImportSearch& search, const std::string& said) {
  if (const auto at = said.find(kUnreadable); at != std::string::npos) {
    const std::size_t begin = at + kUnreadable.size();
    return Error{Errc::library_missing, Phase::start,
                 fmt::format("{}: python cannot read it: {}", search.subject,
                             said.substr(begin, said.find('\n', begin) - begin)),
                 "is the script there, and complete?"};
  }
  const auto missing = proto::missing_libraries(said);
  if (missing.empty()) return {};
  return Error{
      Errc::library_missing, Phase::start,
      fmt::format("{}: module{} {} not found", search.subject, missing.size() == 1 ? "" : "s",
                  join(missing, ", ")),
      fmt::format("{} -m pip install there, or set PYTHONPATH in ~/.charmrunrc there", search.interpreter)};
}

}  // namespace charmtree::io
