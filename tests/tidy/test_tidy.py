# SPDX-License-Identifier: Apache-2.0
"""Shows that each rule of tidy.py can fail, and does not fail where it must not. Run: python3 -m unittest discover -s tests/tidy"""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import classes  # noqa: E402
import cpp_text  # noqa: E402
import layers  # noqa: E402
import tidy  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "// A header.\n#pragma once\n"
CMAKE = "# SPDX-License-Identifier: Apache-2.0\n"


def offences(files):
    """The offences in a tree of `files` (path -> text) as a set of (path, line, rule)."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        return {(path, line, rule) for path, line, rule, _ in tidy.offences(root, tidy.load(root))}


def rules(path, body, **others):
    """The rules that one C++ file breaks, dead files left out. `body` follows the SPDX line (and a header's opening)."""
    text = (HEADER if path.endswith(".hpp") else SPDX) + body
    return {rule for found, _, rule in offences({path: text, **others}) if found == path and rule != "dead-file"}


class Binaries(unittest.TestCase):
    def test_what_is_no_text(self):
        self.assertEqual(offences({"core": "\177ELF\0\0"}), {("core", 1, "binary")})


class Layers(unittest.TestCase):
    def test_an_include_of_a_higher_layer(self):
        self.assertEqual(rules("tree/wire/a.cpp", '#include "tree/job/b.hpp"\n', **{"tree/job/b.hpp": HEADER}), {"layer"})
        self.assertEqual(rules("health/a.cpp", '#include "tree/io/b.hpp"\n', **{"tree/io/b.hpp": HEADER}), {"layer"})
        self.assertEqual(rules("charmrun/a.cpp", '#include "client-lib/b.hpp"\n', **{"client-lib/b.hpp": HEADER}), {"layer"})
        self.assertEqual(rules("tree/io/a.cpp", '#include "charmrun/b.hpp"\n', **{"charmrun/b.hpp": HEADER}), {"layer"})
        self.assertEqual(rules("tree/io/a.cpp", '#include "tests/b.hpp"\n', **{"tests/b.hpp": HEADER}), {"layer"})

    def test_an_include_of_a_lower_layer(self):
        self.assertEqual(rules("tree/job/a.cpp", '#include "tree/base/b.hpp"\n', **{"tree/base/b.hpp": HEADER}), set())
        self.assertEqual(rules("tree/io/host/a.cpp", '#include "tree/node/b.hpp"\n', **{"tree/node/b.hpp": HEADER}), set())

    def test_a_folder_without_a_row(self):
        self.assertEqual(rules("exchange/a.cpp", '#include "tree/base/b.hpp"\n', **{"tree/base/b.hpp": HEADER}), {"layer"})

    def test_every_layer_names_known_layers(self):
        for folder, allowed in layers.LAYERS.items():
            self.assertLessEqual(set(allowed), set(layers.LAYERS), folder)

    def test_an_include_in_a_comment_or_string(self):
        self.assertEqual(rules("tree/wire/a.cpp", '// #include "tree/job/b.hpp"\n/*\n#include <boost/asio.hpp>\n*/\n'), set())

    def test_a_library_outside_its_home(self):
        for path, name in (("charmrun/a.cpp", "boost/asio.hpp"), ("tree/io/a.cpp", "boost/asio.hpp"), ("charmrun/a.cpp", "libssh2.h"),
                           ("tree/io/a.cpp", "hwloc.h"), ("tree/io/a.cpp", "infiniband/verbs.h"), ("charmrun/a.cpp", "pmix.h"),
                           ("tree/io/a.cpp", "nlohmann/json.hpp"), ("tree/io/a.cpp", "catch2/catch.hpp"), ("client-lib/a.cpp", "fmt/format.h")):
            with self.subTest(path=path, name=name):
                self.assertEqual(rules(path, f"#include <{name}>\n"), {"library"})

    def test_a_library_at_home(self):
        for path, name in (("tree/io/asio.hpp", "boost/asio/post.hpp"), ("tree/io/ssh/a.cpp", "libssh2.h"), ("tree/io/host/cpus.cpp", "hwloc.h"),
                           ("tests/unit/a.cpp", "catch2/catch.hpp"), ("tree/wire/a.cpp", "fmt/format.h"), ("tree/io/a.cpp", "unistd.h")):
            with self.subTest(path=path, name=name):
                self.assertEqual(rules(path, f"#include <{name}>\n"), set())

    def test_clocks_sockets_and_threads_in_pure_code(self):
        for name in ("sys/socket.h", "unistd.h", "thread", "iostream", "chrono", "random", "fstream"):
            for path in ("tree/base/a.cpp", "tree/job/a.cpp", "health/a.cpp", "ccs/a.cpp", "tree/node/a.cpp"):
                with self.subTest(path=path, name=name):
                    self.assertEqual(rules(path, f"#include <{name}>\n"), {"impure"})
        self.assertEqual(rules("tree/base/time.hpp", "#include <chrono>\n"), set())
        self.assertEqual(rules("tree/job/a.cpp", "#include <vector>\n#include <cstring>\n"), set())


class Bans(unittest.TestCase):
    def test_each_banned_call(self):
        cases = {
            "exit": ("exit(1);", "std::exit(1);", "if (x) abort();", "_exit(127);", "std::terminate();"),
            "sleep": ("sleep(1);", "usleep(1);", "std::this_thread::sleep_for(d);"),
            "rand": ("int a = rand();", "srand(1);", "std::uniform_int_distribution<int> d;", "std::mt19937 g;", "std::shuffle(a, b, c);"),
            "shell": ('system("x");', 'FILE* f = popen("x");'),
            "clock": ("auto t = std::chrono::steady_clock::now();", "clock_gettime(a, b);", "auto t = time(nullptr);"),
            "print": ('printf("x");', 'fmt::print("x");', "std::cout << 1;", 'fprintf(stderr, "x");'),
            "impure": ('auto f = std::fopen("x", "r");',),
            "environment": ('auto v = getenv("X");',),
            "unordered": ("std::unordered_map<int, int> m;",),
            "type-test": ("if (auto* m = std::get_if<wire::Output>(&message)) m->text.clear();", "return holds_alternative<proto::Say>(action);"),
            "coroutine": ("co_await f();", "co_return;", "spawn(x, asio::detached);", "thread.detach();"),
        }
        for rule, lines in cases.items():
            for line in lines:
                with self.subTest(rule=rule, line=line):
                    self.assertIn(rule, rules("tree/job/a.cpp", f"void f() {{\n  {line}\n}}\n"))

    def test_each_place_where_it_is_allowed(self):
        cases = (("charmrun/main.cpp", "exit(1);"), ("tree/io/spawn.cpp", "_exit(127);"), ("tests/doubles/a.c", "sleep(1);"),
                 ("tree/io/clock.hpp", "auto t = std::chrono::steady_clock::now();"), ("charmrun/view/console.cpp", 'printf("x");'),
                 ("charmrun/a.cpp", 'auto v = getenv("X");'), ("tree/io/a.cpp", "std::unordered_map<int, int> m;"),
                 ("tree/io/a.cpp", "co_return;"), ("tree/io/a.cpp", "return std::get_if<proto::ProcessExited>(&event);"),
                 ("tests/unit/a.cpp", "return std::get_if<wire::Output>(&message);"), ("tests/unit/a.cpp", "std::cout << 1;"))
        for path, line in cases:
            with self.subTest(path=path, line=line):
                self.assertEqual(rules(path, f"inline void f() {{\n  {line}\n}}\n"), set())

    def test_words_that_only_look_like_a_banned_call(self):
        for line in ("on_exit(1);", "x.exit(1);", "x->abort();", "Loop::exit(1);", "Random random(1);", "bool print(int);", "void abort();",
                     "// exit(1)", 'call("exit(1)");', "next_time(3);", "return abort(message);", "snprintf(a, b, c);", "auto exit_status = 1;"):
            with self.subTest(line=line):
                self.assertEqual(rules("tree/job/a.cpp", f"void f() {{\n  {line}\n}}\n"), set())

    def test_a_virtual_function_with_an_empty_default(self):
        for path in ("tree/io/a.hpp", "charmrun/view/a.hpp"):
            self.assertEqual(rules(path, "struct A {\n  virtual void f(const B& /*b*/) {}\n};\n"), {"silent"})
        for line in ("virtual void f(const B& b) = 0;", "void f(const B&) override {}", "virtual ~A() {}", "virtual void f() { g(); }"):
            with self.subTest(line=line):
                self.assertEqual(rules("tree/io/a.hpp", f"struct A {{\n  {line}\n}};\n"), set())

    def test_using_namespace_in_a_header(self):
        self.assertEqual(rules("tree/io/a.hpp", "using namespace std;\n"), {"using-namespace"})
        self.assertEqual(rules("tree/io/a.hpp", "using namespace std::chrono_literals;\n"), set())
        self.assertEqual(rules("tree/io/a.cpp", "using namespace charmtree;\n"), set())

    def test_words_in_any_text(self):
        for word in ("TO" + "DO: later", "FIX" + "ME", "X" + "XX"):
            self.assertIn(("docs/a.md", 1, "todo"), offences({"docs/a.md": word + "\n"}))
            self.assertEqual(rules("tree/io/a.cpp", f"// {word}\n"), {"todo"})
        self.assertEqual(offences({"a.md": "mkdtemp XX" + "XXXX\n"}), set())

    def test_the_path_of_the_clone_in_any_text(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "a.md").write_text(f"\nsee {root}/x\nor {root}.\nnot {root}-2, {root}.old, x{root}, /tmp, {root.parent}/x\n", encoding="utf-8")
            found = tidy.offences(root, tidy.load(root))
            self.assertEqual({(path, line, rule) for path, line, rule, _ in found}, {("a.md", 2, "path"), ("a.md", 3, "path")})

    def test_a_waiver_names_the_rule_and_a_reason(self):
        self.assertEqual(rules("tree/io/a.cpp", "int a = rand();  // tidy: allow(rand) a demonstration\n"), set())
        self.assertEqual(rules("tree/io/a.cpp", "int a = rand();  // tidy: allow(exit) wrong rule\n"), {"rand"})
        self.assertEqual(rules("tree/io/a.cpp", "int a = rand();  // tidy: allow(rand)\n"), {"rand"})


class Coroutines(unittest.TestCase):
    def test_braces_inside_co_await(self):
        self.assertEqual(rules("tree/io/a.cpp", "auto n = co_await read(Buffer{1, 2});\n"), {"co-await"})
        self.assertEqual(rules("tree/io/a.cpp", "co_await run([&] { return 1; });\n"), {"co-await"})

    def test_co_await_inside_an_expression(self):
        self.assertEqual(rules("tree/io/a.cpp", "use(1, co_await read());\n"), {"co-await"})
        self.assertEqual(rules("tree/io/a.cpp", "if (co_await read()) return;\n"), {"co-await"})

    def test_co_await_alone(self):
        for line in ("co_await read();", "auto n = co_await read(a, b);", "const int rc = co_await read();", "co_return co_await read();",
                     "auto [a, b] = co_await read();", "result.link = co_await read();", "const Result<int> r = co_await read();",
                     "while (!done) co_await read();"):
            with self.subTest(line=line):
                self.assertEqual(rules("tree/io/a.cpp", f"  {line}\n"), set())


class Files(unittest.TestCase):
    def test_spdx(self):
        self.assertIn(("tree/io/a.cpp", 1, "spdx"), offences({"tree/io/a.cpp": "int a;\n"}))
        self.assertIn(("tests/run", 1, "spdx"), offences({"tests/run": "#!/bin/bash\n"}))
        self.assertIn(("CMakeLists.txt", 1, "spdx"), offences({"CMakeLists.txt": "project(x)\n"}))
        self.assertEqual(offences({"a.md": "text\n", "tests/run": "#!/bin/bash\n" + CMAKE}), set())

    def test_header_rules(self):
        self.assertIn(("tree/io/a.hpp", 1, "pragma-once"), offences({"tree/io/a.hpp": SPDX + "// What.\nint a;\n"}))
        self.assertIn(("tree/io/a.hpp", 2, "opening"), offences({"tree/io/a.hpp": SPDX + "#pragma once\nint a;\n"}))
        guarded = "/* SPDX-License-Identifier: Apache-2.0 */\n/* What. */\n#ifndef A_H\n#define A_H\n#endif\n"
        self.assertEqual(offences({"client-lib/a.h": guarded}), set())

    def test_file_length(self):
        self.assertEqual(rules("tree/io/a.cpp", "int a;\n" * 599), set())
        self.assertEqual(rules("tree/io/a.cpp", "int a;\n" * 600), {"file-length"})
        self.assertIn(("a.py", 601, "file-length"), offences({"a.py": CMAKE + "x = 1\n" * 600}))

    def test_function_length(self):
        self.assertEqual(rules("tree/io/a.cpp", "int f() {\n" + "  g();\n" * 68 + "}\n"), set())
        self.assertEqual(rules("tree/io/a.cpp", "int f() {\n" + "  g();\n" * 69 + "}\n"), {"function-length"})
        self.assertIn(("a.py", 2, "function-length"), offences({"a.py": CMAKE + "def f():\n" + "    g()\n" * 70}))

    def test_includes(self):
        self.assertEqual(rules("tree/io/a.cpp", '#include "b.hpp"\n', **{"tree/io/b.hpp": HEADER}), {"include"})
        self.assertEqual(rules("tree/io/a.cpp", '#include <vector>\n#include "tree/io/a.hpp"\n', **{"tree/io/a.hpp": HEADER}), {"own-header"})
        self.assertEqual(rules("tree/io/a.cpp", '#include "tree/io/a.hpp"\n\n#include <vector>\n', **{"tree/io/a.hpp": HEADER}), set())

    def test_dead_files(self):
        files = {"tree/io/a.cpp": SPDX, "tree/io/deep/b.cpp": SPDX, "tree/io/c.hpp": HEADER, "tests/x_fuzz.cpp": SPDX, "examples/ring.c": SPDX}
        self.assertEqual({path for path, _, rule in offences(files) if rule == "dead-file"}, set(files))
        cmake = {"CMakeLists.txt": CMAKE + "ct_library(ct_io tree/io ct_wire)\n#add(tree/io/deep/b.cpp)\nadd(${PROJECT_SOURCE_DIR}/examples/*.c)\n",
                 "tests/CMakeLists.txt": CMAKE + "foreach(n x)\nadd_executable(${n}_fuzz ${n}_fuzz.cpp)\nendforeach()\n"}
        files["tree/io/a.cpp"] += '#include "tree/io/c.hpp"\n'
        self.assertEqual({path for path, _, rule in offences({**files, **cmake}) if rule == "dead-file"}, {"tree/io/deep/b.cpp"})
        cmake["tests/build.py"] = CMAKE + "compile('b.cpp')\n"
        self.assertNotIn(("tree/io/deep/b.cpp", 1, "dead-file"), offences({**files, **cmake}))

    def test_a_header_that_needs_another_one_first(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "good.hpp").write_text(HEADER + "#include <string>\ninline std::string a;\n", encoding="utf-8")
            (root / "bad.hpp").write_text(HEADER + "inline std::string a;\n", encoding="utf-8")
            found = list(tidy.check_self_contained(root, tidy.load(root), 2))
        self.assertEqual([(path, rule) for path, _, rule, _ in found], [("bad.hpp", "self-contained")])

    def test_the_program_prints_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a.py").write_text("x = 1\n", encoding="utf-8")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(tidy.main(["--root", folder]), 1)
            self.assertEqual(printed.getvalue(), "a.py:1: spdx: no SPDX line in the first two lines\n")
            Path(folder, "a.py").write_text(CMAKE, encoding="utf-8")
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(tidy.main(["--root", folder]), 0)


class OwnNames(unittest.TestCase):
    ONE = "namespace charmtree {\nnamespace {\nint size(int a) {\n  return a;\n}\n}  // namespace\n}  // namespace charmtree\n"

    def found(self, folder, other):
        files = {f"{folder}/a.cpp": SPDX + self.ONE, f"{folder}/b.cpp": SPDX + other}
        return {(path, line) for path, line, rule in offences(files) if rule == "own-name"}

    def test_a_function_of_two_files(self):
        self.assertEqual(self.found("tree/io", self.ONE.replace("int", "long")), {("tree/io/b.cpp", 4)})
        self.assertEqual(self.found("charmrun", self.ONE.replace("int a", "\n    int a")), {("charmrun/b.cpp", 4)})

    def test_names_that_may_be_the_same(self):
        self.assertEqual(self.found("tests/io", self.ONE), set())
        self.assertEqual(self.found("tree/io", self.ONE.replace("namespace {", "namespace other {")), set())
        self.assertEqual(self.found("tree/io", self.ONE.replace("int size", "struct B {\n  int size").replace("}\n}  //", "};\n}  //")), set())


class OwnNamespace(unittest.TestCase):
    def test_a_test_without_one(self):
        for body in ("", "namespace {\n}\n", "namespace charmtree::b_test {\n}\n", "int a;\nnamespace charmtree::a_test {\n}\n"):
            self.assertIn("own-namespace", rules("tests/unit/job/a_test.cpp", body), body)
            self.assertIn("own-namespace", rules("tests/io/a_test.cpp", body), body)

    def test_what_has_one_or_needs_none(self):
        body = "// About it.\n#include <map>\n\nnamespace charmtree::a_test {\n}\n"
        self.assertEqual(rules("tests/unit/job/a_test.cpp", body), set())
        self.assertEqual(rules("tests/unit/main.cpp", "int a;\n"), set())
        self.assertEqual(rules("tests/memory/a_test.cpp", "int a;\n"), set())


class Functions(unittest.TestCase):
    """The shapes of C++ that cpp_text.functions must understand: (text, [(first line, last line)])."""

    SHAPES = (
        ("a plain function", "int f(int a) {\n  if (a) {\n    g();\n  }\n}\n", [(1, 5)]),
        ("two of them, and a declaration", "int a();\nint f() {\n}\n\nint g() {\n}\n", [(2, 3), (5, 6)]),
        ("inside namespaces", "namespace a::b {\nnamespace {\nint f() {\n}\n}  // namespace\n}\n", [(3, 4)]),
        ("methods of a class", "class A : public B {\n public:\n  int f() const override {\n  }\n  int g() const { return 1; }\n};\n", [(3, 4), (5, 5)]),
        ("a head of several lines", "template <class T>\nResult<T> f(int a,\n            int b) noexcept {\n}\n", [(1, 4)]),
        ("member initialisers in braces", "A::A(int x) : a_{x}, b_(x), c_{} {\n  g();\n}\n", [(1, 3)]),
        ("member initialisers in parentheses", "A::A(int x)\n    : a_(x),\n      b_(std::move(x)) {\n}\n", [(1, 4)]),
        ("a trailing return type", "auto f() -> std::vector<int> {\n}\n", [(1, 2)]),
        ("operators", "bool operator==(const A& a, const A& b) {\n}\nA& A::operator=(const A& a) {\n}\n", [(1, 2), (3, 4)]),
        ("tables are not functions", "constexpr std::array<int, 2> kA = {{\n  1, 2}};\nint b{3};\nint f() {\n}\n", [(4, 5)]),
        ("a table made by calls", "const Row kRows[] = {\n  row(1, 2),\n  row(2, 3)};\nint f() {\n}\n", [(4, 5)]),
        ("enums and structs", "enum class E : int { a, b };\nstruct alignas(8) S {\n  int a = 1;\n  S(int x) : a(x) {\n  }\n};\n", [(4, 5)]),
        ("lambdas belong to their function", "int f() {\n  auto g = [&](int x) {\n    return x;\n  };\n}\n", [(1, 5)]),
        ("braces in strings and comments", 'int f() {\n  g("}", \'{\');  // }\n  h(R"x({{)x");\n}\nint g() {\n}\n', [(1, 4), (5, 6)]),
        ("default arguments in braces", "int f(A a = {}, B b = {1}) {\n}\n", [(1, 2)]),
        ("digit separators", "int f() {\n  return 1'000'000 + '{';\n}\nint g() {\n}\n", [(1, 3), (4, 5)]),
        ("test cases", 'TEST_CASE("a {", "[x]") {\n  CHECK(a);\n}\n', [(1, 3)]),
        ("C returning a struct", "struct a *f(struct b *b)\n{\n}\n", [(1, 3)]),
        ("macros before", "#define A(x) { \\\n  x\nCT_FIELDS(A, b)\n\nint f() {\n}\n", [(5, 6)]),
        ("extern C", 'extern "C" {\nint f(void) {\n}\n}\n', [(2, 3)]),
        ("attributes", "[[nodiscard]] int f() {\n}\n", [(1, 2)]),
    )

    def test_shapes(self):
        for name, text, expected in self.SHAPES:
            with self.subTest(name):
                self.assertEqual([(first, last) for first, last, _ in cpp_text.functions(text)], expected)


class ClassSizes(unittest.TestCase):
    """What classes.py must count: (declaration, data members, methods)."""

    DECLARATIONS = (
        ("a member", "int a_ = 0;", 1, 0),
        ("several in one", "std::array<int, 2> a_{}, b_{1, 2};", 2, 0),
        ("members of function type", "std::function<void(int)> a_; std::map<int, std::function<int()>> b_ = {};", 2, 0),
        ("a reference, a bit, an array", "const A& a_; bool b_ : 1; char c_[12];", 3, 0),
        ("members behind a label", "private: int a_;", 1, 0),
        ("constants and other static members", "static constexpr int kA = 1, kB = f(2); static int c_; static constexpr std::array<int, 1> kD = {{1}};", 0, 0),
        ("methods", "void f(); int g() const { return h(1); } virtual int h(int a = {}) = 0; static int k(); A& l() &&;", 0, 5),
        ("overloads", "void on(const A&); void on(const B&);", 0, 2),
        ("constructors and destructors", "A() = default; explicit A(int a) : a_(a), b_{a} {} ~A();", 0, 3),
        ("deleted ones", "A(const A&) = delete; A& operator=(const A&) = delete;", 0, 0),
        ("operators", "bool operator==(const A& a) const = default; int operator()(int) const { return 1; }", 0, 2),
        ("templates", "template <class T, class U = std::less<T>> void f(T t) { t(); }", 0, 1),
        ("templates that require", "template <class T> requires std::is_same_v<T, int> T f(T t);", 0, 1),
        ("friends, names and checks", "friend bool operator<(A a, A b) { return a < b; } using B = int; friend class C; static_assert(f(1)); enum class D { a, b };", 0, 0),
        ("local types", "struct B { int a; int b(); }; class C; enum D : int;", 0, 0),
        ("local types with members", "struct { int a; } b_; struct B { int a; } c_, d_;", 3, 0),
        ("attributes", "[[nodiscard]] int f(); [[maybe_unused]] int a_;", 1, 1),
        ("comments and strings", '/* int a; */ const char* a_ = "int f(); int b;"; // int c;\n', 1, 0),
        ("a body in a body", "int f() { if (a) { return 1; } auto g = [] { return 2; }; return g(); } int a_;", 1, 1),
        ("initialisers that call", "int a_ = f(1, 2); int b_{f(3)}; A c_ = A{1, 2};", 3, 0),
    )

    def test_declarations(self):
        for name, text, members, methods in self.DECLARATIONS:
            with self.subTest(name):
                found = next(iter(classes.classes_of("a.hpp", f"namespace n {{\nclass A final : public B<int> {{\n {text}\n}};\n}}\n")))
                self.assertEqual((found.name, found.line, found.members, found.methods), ("A", 2, members, methods))

    def test_local_classes_are_counted_by_themselves(self):
        found = classes.classes_of("a.hpp", "class A {\n  struct B { int a, b; void f(); };\n  B c_;\n};\nstruct D { int e; };\nenum class E { f };\n")
        self.assertEqual([(c.name, c.members, c.methods) for c in found], [("A", 1, 0), ("A::B", 2, 1), ("D", 1, 0)])

    @staticmethod
    def body(members=0, methods=0):
        return "".join(f"  int a{i}_;\n" for i in range(members)) + "".join(f"  int f{i}();\n" for i in range(methods))

    def sizes(self, files, known=None):
        """The offences against class-size, by path, with what the user reads."""
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(classes.LARGE_CLASSES, known or {}, clear=True):
            root = Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                opening = {".hpp": HEADER, ".cpp": SPDX}.get(Path(path).suffix, CMAKE)
                (root / path).write_text(opening + text, encoding="utf-8")
            return [(path, message) for path, _, rule, message in tidy.offences(root, tidy.load(root)) if rule == "class-size"]

    def header(self, members=0, methods=0, head="class A"):
        return {"tree/io/a.hpp": f"{head} {{\n{self.body(members, methods)}}};\n"}

    def test_the_limits(self):
        self.assertEqual(self.sizes(self.header(25, 45)), [])
        self.assertEqual(self.sizes(self.header(26, 45)), [("tree/io/a.hpp", "A has 26 data members, at most 25")])
        self.assertEqual(self.sizes(self.header(25, 46)), [("tree/io/a.hpp", "A has 46 methods, at most 45")])
        self.assertEqual(self.sizes({"tests/unit/a.hpp": self.header(26, 46)["tree/io/a.hpp"]}), [])

    def test_a_base_elsewhere_counts_as_far_as_its_members_go(self):
        heir = {"charmrun/b.hpp": f'#include "tree/io/a.hpp"\nclass B final : private io::A {{\n{self.body(20, 30)}}};\n'}
        self.assertEqual(self.sizes(self.header(6, 30) | heir), [("charmrun/b.hpp", "B has 26 data members, at most 25")])
        self.assertEqual(self.sizes(self.header(5, 30) | heir), [])

    def test_files(self):
        text = '#include "tree/io/a.hpp"\nnamespace n {\nvoid n::A::f1() {\n}\n'
        files = self.header(methods=4) | {"tree/io/a.cpp": text + "}\n", "tree/io/a_b.cpp": text + "}\n"}
        self.assertEqual(self.sizes(files), [])
        third = {"tree/io/a_c.cpp": '#include "tree/io/a.hpp"\nstd::vector<int> A::f2(int a) {\n}\n'}
        self.assertEqual(self.sizes(files | third), [("tree/io/a.hpp", "A has 3 .cpp files, at most 2")])
        user = {"tree/io/d.cpp": '#include "tree/io/a.hpp"\nint D::g() {\n  return A::f1() + A::f2(1);\n}\n'}
        self.assertEqual(self.sizes(files | user), [])
        constructor = {"tree/io/a_c.cpp": '#include "tree/io/a.hpp"\nA::A(int x) : a1_(x), a2_{1} {\n}\n'}
        self.assertEqual(self.sizes(files | constructor), [("tree/io/a.hpp", "A has 3 .cpp files, at most 2")])
        namesake = {"tree/io/a_c.cpp": "class A {\n};\nvoid A::f1() {\n}\n"}
        self.assertEqual(self.sizes(files | namesake), [])

    def test_a_known_large_class_may_shrink_and_not_grow(self):
        known = {"tree/io/a.hpp:A": (30, 50, 0)}
        self.assertEqual(self.sizes(self.header(30, 50), known), [])
        self.assertEqual(self.sizes(self.header(26, 1), known), [])
        (path, message), = self.sizes(self.header(31, 50), known)
        self.assertEqual((path, message.split(",")[0]), ("tree/io/a.hpp", "A has 31 data members"))
        (path, message), = self.sizes(self.header(30, 51), known)
        self.assertEqual((path, message.split(",")[0]), ("tree/io/a.hpp", "A has 51 methods"))

    def test_a_known_large_class_that_is_none_any_more_is_taken_out_of_the_list(self):
        for files in (self.header(25, 45), self.header(head="class B", members=2)):
            (path, message), = self.sizes(files, {"tree/io/a.hpp:A": (30, 50, 0)})
            self.assertEqual(path, "tree/io/a.hpp")
            self.assertIn("take it out of LARGE_CLASSES", message)
        (path, message), = self.sizes({"tests/tidy/layers.py": ""}, {"tree/io/gone.hpp:A": (30, 50, 0)})
        self.assertEqual(path, "tests/tidy/layers.py")


class OptionsDoc(unittest.TestCase):
    TABLE = SPDX + 'constexpr std::array kTable = {\n    OptionRow{"p", Topic::counts},\n    OptionRow{"bind", Topic::counts},\n};\n'
    KEYS = SPDX + 'constexpr std::array kKeys = {KeyRow{"login", Key::login}};\n'
    TESTS = SPDX + 'TEST_CASE("p, bind and login "\n          "do it", "[tag]") {}\n'
    ROWS = ("| `++p N`, `+pN` | PEs | the same | `unit/a_test.cpp: p, bind and login do it` |",
            "| `++bind UNIT` | | binds | `unit/a_test.cpp: p, bind and login do it` |",
            "| `login NAME` | x | y | `cluster/test_b.py: test_c` |")

    def found(self, *rows, **others):
        doc = "| option | Charm++ 8 | here | shown by |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
        files = {"charmrun/cli/option_table.cpp": self.TABLE, "charmrun/hosts/nodelist_line.cpp": self.KEYS, "docs/OPTIONS.md": doc,
                 "tests/unit/a_test.cpp": self.TESTS, "tests/cluster/test_b.py": CMAKE + "def test_c():\n    login()\n", **others}
        return sorted(line for _, line, rule in offences(files) if rule == "options-doc")

    def test_a_whole_table(self):
        self.assertEqual(self.found(*self.ROWS), [])

    def test_a_row_that_is_missing(self):
        self.assertEqual(self.found(*self.ROWS[1:]), [1])
        self.assertEqual(self.found(*self.ROWS[:2]), [1])
        self.assertEqual(self.found(self.ROWS[0], self.ROWS[2]), [1])

    def test_a_row_whose_test_is_missing_or_of_something_else(self):
        for test in ("", "yes", "`unit/none.cpp`", "`unit/a_test.cpp: p, bind and login do`", "`cluster/test_b.py: test_d`", "`cluster/test_b.py: test_c`"):
            self.assertIn(3, self.found(f"| `++p N` | | | {test} |", *self.ROWS[1:]), test)

    def test_no_document(self):
        files = {"charmrun/cli/option_table.cpp": self.TABLE, "charmrun/hosts/nodelist_line.cpp": self.KEYS}
        self.assertIn(("charmrun/cli/option_table.cpp", 1, "options-doc"), offences(files))


class PagesDoc(unittest.TestCase):
    TREE = {"charmrun/cli/option_table.cpp": OptionsDoc.TABLE, "charmrun/hosts/nodelist_line.cpp": OptionsDoc.KEYS, "docs/OPTIONS.md": "",
            "docs/manual/README.md": "[a](a.md)\n"}

    def found(self, page, **others):
        files = {**self.TREE, "docs/manual/a.md": page, **others}
        return sorted((path, line) for path, line, rule in offences(files) if rule == "pages")

    def test_a_page_that_is_right(self):
        self.assertEqual(self.found("[up](../../README.md#x) ++p, ++no-p, C++, ++login, [far](https://a.b/c)\n```sh\ncharmrun x\n```\n", **{"README.md": "# x\n"}), [])

    def test_links_that_lead_nowhere(self):
        self.assertEqual(self.found("\n[b](b.md)\n"), [("docs/manual/a.md", 2)])
        self.assertEqual(self.found("", **{"tests/x.md": "[a](a.md)\n"}), [("tests/x.md", 1)])

    def test_links_to_headings(self):
        page = "# A b: `c`, `++p`\n[a](#a-b-c-p)\n[up](../../README.md#x-y)\n"
        self.assertEqual(self.found(page, **{"README.md": "# x y\n"}), [])
        self.assertEqual(self.found(page + "[a](#a-b)\n", **{"README.md": "## x\n"}), [("docs/manual/a.md", line) for line in (3, 4)])

    def test_options_that_are_not_there(self):
        self.assertEqual(self.found("++p\n`++q`\n++bind\n++no-q\n"), [("docs/manual/a.md", line) for line in (2, 4)])

    def test_commands_that_no_test_would_run(self):
        self.assertEqual(self.found("```\n$ a\n```\n    charmrun x\n```console\n$ b\n```\n"), [("docs/manual/a.md", 2), ("docs/manual/a.md", 4)])

    def test_a_page_that_the_index_does_not_list(self):
        self.assertEqual(self.found("", **{"docs/manual/b.md": ""}), [("docs/manual/b.md", 1)])

    def test_a_readme_that_is_too_long(self):
        self.assertEqual(self.found("", **{"README.md": "a" * 8192}), [])
        self.assertEqual(self.found("", **{"README.md": "a" * 8193}), [("README.md", 1)])

    def test_a_map_that_is_too_long(self):
        self.assertEqual(self.found("", **{"docs/MAP.md": "\n" * 80}), [])
        self.assertEqual(self.found("", **{"docs/MAP.md": "\n" * 81}), [("docs/MAP.md", 81)])


class PlainWords(unittest.TestCase):
    LONG = "A" + " word" * 30 + "."

    def setUp(self):
        patched = mock.patch.dict(tidy.pages_doc.NOT_YET, clear=True)
        patched.start()
        self.addCleanup(patched.stop)

    def found(self, text, path="docs/manual/a.md"):
        return sorted((line, rule) for found, line, rule in offences({path: text}) if found == path and rule != "pages")

    def test_a_page_that_is_right(self):
        page = f"# {self.LONG}\n\nA{' word' * 29}.\n\n| {self.LONG} |\n\n```\nhe said: {self.LONG}\n```\n<!-- nobody -->\nUse `nobody`, such as [this](he.md)."
        self.assertEqual(self.found(page), [])

    def test_sentences_that_are_too_long(self):
        self.assertEqual(self.found(self.LONG), [(1, "plain-words")])
        self.assertEqual(self.found(f"Short.\n\n- Short.\n- {self.LONG}\n"), [(4, "plain-words")])
        self.assertEqual(self.found(self.LONG.replace(" word", "\nword")), [(1, "plain-words")])

    def test_what_ends_a_sentence(self):
        half = "A" + " word" * 15
        for between in (". ", "! ", "? ", ".) ", ".** ", ".\n\n", "\n- ", "\n2. ", ". `code` ", ". (", ". charmrun "):
            self.assertEqual(self.found(half + between + half + "."), [], between)
        for between in (": ", "; ", ", ", ". a ", "\n", " (A) "):
            self.assertEqual(self.found(half + between + half + "."), [(1, "plain-words")], between)

    def test_code_and_links_count_as_read(self):
        self.assertEqual(self.found("A" + " `word word`" * 29 + "."), [])
        self.assertEqual(self.found("A" + " `word\nword`" * 29 + "."), [])
        self.assertEqual(self.found("A" + " [b](word-word/word)" * 29 + "."), [])
        self.assertEqual(self.found("A" + " `word word`" * 30 + "."), [(1, "plain-words")])

    def test_words_of_the_dialect(self):
        for word in ("Nobody", "whose", "tells", "heard", "said", "believes", "lies", "anew", "kin", "his", "such", "so often", "by itself", "is of", "ours"):
            self.assertEqual(self.found(f"A\n\n| {word} b |\n"), [(3, "plain-words")], word)
        for word in ("lies in", "such as", "sayings", "hearth", "house", "so far", "`nobody`"):
            self.assertEqual(self.found(f"A\n\n# {word} b\n"), [], word)

    def test_which_pages_are_read(self):
        for path in ("README.md", "docs/MAP.md", "docs/manual/b.md"):
            self.assertEqual(self.found("nobody\n```sh\n```\n", path), [(1, "plain-words")], path)
        for path in ("tests/b.md", "docs/manual/b.txt"):
            self.assertEqual(self.found("nobody", path), [], path)

    def test_a_page_that_is_not_rewritten_yet(self):
        with mock.patch.dict(tidy.pages_doc.NOT_YET, {"docs/manual/a.md": (1, 2)}):
            self.assertEqual(self.found(f"{self.LONG}\n\nNobody said.\n"), [])
            self.assertEqual(self.found(f"{self.LONG}\n\nNobody said such.\n"), [(1, "plain-words")])
            self.assertEqual(self.found(f"{self.LONG}\n\nNobody.\n"), [(1, "plain-words")])

    def test_how_many_sentences_may_be_long(self):
        long, screen = "A" + " word" * 25 + ".\n\n", "```sh\n```\n"
        self.assertEqual(self.found(screen + "Short.\n\n" * 95 + long * 5, "README.md"), [])
        self.assertEqual(self.found(screen + "Short.\n\n" * 95 + long * 6, "README.md"), [(1, "plain-words")])
        self.assertEqual(self.found(screen + "Short.\n\n" * 93 + long * 6, "README.md"), [])

    def test_an_example_on_the_first_screen(self):
        for page in tidy.pages_doc.SHOWS_FIRST:
            self.assertEqual(self.found("\n" * 23 + "```sh\ncharmrun x\n```\n", page), [], page)
            self.assertEqual(self.found("\n" * 24 + "```sh\ncharmrun x\n```\n", page), [(1, "first-screen")], page)
            self.assertEqual(self.found("\n", page), [(1, "first-screen")], page)
        self.assertEqual(self.found("\n", "docs/manual/other.md"), [])


if __name__ == "__main__":
    unittest.main()
