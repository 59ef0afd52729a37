# SPDX-License-Identifier: Apache-2.0
"""What may be used where: the table of docs/DESIGN.md, "Layout", and the banned words of STYLE.md, as data for tidy.py."""

import re
from dataclasses import dataclass
from pathlib import Path

# A folder (the longest prefix of a path wins) and the folders that its files may include. Itself is always allowed.
LOW = ("tree/base", "tree/wire", "tree/clients", "tree/clients/pmi", "tree/clients/pmix", "tree/turn", "tree/overlay", "tree/job")
NODE = LOW + ("health", "ccs", "kvs", "kvs/fence", "kvs/ring", "stacks", "debug", "staging", "input", "tree/node")
IO = ("tree/io", "tree/io/link", "tree/io/ssh", "tree/io/host", "tree/io/user", "tree/io/mpiexec", "tree/io/pmix", "tree/io/stacks")
VIEW = NODE + IO + ("charmrun/report", "charmrun/cli", "charmrun/hosts", "charmrun/plan", "charmrun/debug", "charmrun/view")
LAYERS = {
    "tree/base": (),
    "tree/wire": ("tree/base",),
    "tree/clients": ("tree/base", "tree/wire", "tree/clients/pmi", "tree/clients/pmix"),
    "tree/clients/pmi": ("tree/base", "tree/wire", "tree/clients"),
    "tree/clients/pmix": ("tree/base", "tree/wire", "tree/clients"),
    "tree/turn": LOW[:5],
    "tree/overlay": LOW[:6],
    "tree/job": LOW[:7],
    "health": LOW,
    "ccs": LOW,
    "kvs": LOW,
    "kvs/fence": LOW,
    "kvs/ring": LOW,
    "stacks": LOW,
    "staging": LOW,
    "input": LOW,
    "debug": LOW,
    "tree/node": LOW + ("health", "ccs", "kvs", "kvs/fence", "kvs/ring", "stacks", "debug", "staging", "input"),
    "tree/io": LOW,
    "tree/io/link": LOW + ("tree/io",),
    "tree/io/ssh": LOW + ("tree/io", "tree/io/link"),
    "tree/io/host": NODE + ("tree/io", "tree/io/link"),
    "tree/io/pmix": LOW + ("tree/io", "tree/io/host"),
    "tree/io/stacks": LOW + ("stacks", "tree/io", "tree/io/host"),
    "tree/io/user": LOW + ("tree/io",),
    "tree/io/mpiexec": LOW + ("tree/io", "tree/io/link"),
    "client-lib": ("tree/base", "tree/wire"),
    "client-lib/pmi": ("tree/base", "tree/wire", "client-lib"),
    "cmake/portable": (),
    "charmrun/report": NODE + IO,
    "charmrun/debug": NODE + IO + ("charmrun/cli",),
    "charmrun/cli": NODE + IO,
    "charmrun/hosts": NODE + IO + ("charmrun/cli",),
    "charmrun/plan": NODE + IO + ("charmrun/report", "charmrun/cli", "charmrun/hosts"),
    "charmrun/view": NODE + IO + ("charmrun/report", "charmrun/cli", "charmrun/hosts", "charmrun/debug", "charmrun/plan"),
    "charmrun/mpiexec": NODE + IO + ("charmrun/report", "charmrun/cli", "charmrun/hosts", "charmrun/plan"),
    "charmrun/ccs": VIEW,
    "charmrun/control": VIEW,
    "charmrun/session": VIEW + ("charmrun/control",),
    "charmrun/doctor": VIEW,
    "charmrun": VIEW + ("charmrun/ccs", "charmrun/control", "charmrun/session", "charmrun/doctor", "charmrun/mpiexec"),
    "examples": ("client-lib",),
    "tests": VIEW + ("charmrun/ccs", "charmrun/control", "charmrun/session", "charmrun/doctor", "charmrun/mpiexec", "charmrun", "client-lib", "client-lib/pmi", "examples"),
}

# Code in these folders takes events and time and gives actions: no descriptors, clocks, threads or chance of its own.
PURE = NODE
# Here the order of a container must not depend on the standard library: the simulator replays runs from a seed.
REPLAYED = NODE[2:]

# Headers of libraries: a prefix of what stands in <...>, and the files or folders that may include it.
LIBRARIES = {
    "boost/": ("tree/io/asio.hpp", "tree/io/asio_library.cpp", "tree/io/http_request.cpp"),
    "libssh2": ("tree/io/ssh", "tests"),
    "openssl/": ("tree/io", "charmrun", "ccs/guard.cpp", "tree/overlay/keyed_hash.cpp"),
    "elfutils/": ("tree/io/stacks",),
    "hwloc": ("tree/io/host/cpus.cpp", "client-lib/ibverbs/nearness.cpp", "tests"),
    "infiniband/": ("client-lib",),
    "zlib.h": ("kvs/fence/given.cpp",),
    "pmix": ("tree/io/pmix", "tests"),
    "nlohmann/": ("charmrun", "tests"),
    "catch2/": ("tests",),
    "fmt/": ("tree", "health", "ccs", "kvs", "stacks", "debug", "staging", "input", "charmrun", "tests"),
}

# Standard C++ headers that pure code has no use for. (Headers with a '.' or '/' in their name are the system's: none is allowed there.)
IMPURE_HEADERS = {
    "atomic", "barrier", "chrono", "condition_variable", "csetjmp", "csignal", "ctime", "filesystem", "fstream", "future",
    "iostream", "latch", "locale", "mutex", "random", "semaphore", "shared_mutex", "stop_token", "syncstream", "thread",
}
IMPURE_ALLOWED = {
    "tree/base/time.hpp": {"chrono"},
    "tree/wire/address.cpp": {"arpa/inet.h"},  # inet_pton and inet_ntop read and write text, no more
}


@dataclass(frozen=True)
class Ban:
    """`pattern` must not occur in the code of files under `within`, but for those under `unless`."""

    rule: str
    pattern: re.Pattern
    why: str
    within: tuple = ("",)
    unless: tuple = ()
    headers_only: bool = False


def call(names):
    """A call of one of these functions, plain or in std:: or ::; no method, no declaration (a word stands before its name)."""
    before = r"(?:(?<=[;{}()=,!|?:+/-])|(?<=&&)|^|\breturn\b|\belse\b|\bdo\b)"
    return re.compile(before + r"\s*(?<!:)(?:std::|::)?\b(?:" + names + r")\s*\(", re.MULTILINE)


def alternatives(path, name):
    """The types of `using <name> = TypeList<...>` or `MessageList<...>` in a header."""
    text = (Path(__file__).resolve().parents[2] / path).read_text(encoding="utf-8")
    return re.findall(r"\w+", re.search(rf"using {name} =\s*(?:TypeList|MessageList)<([^>]*)>", text)[1])


def asked_for(types):
    """A question whether a variant is one of these types."""
    return re.compile(r"\b(?:get_if|holds_alternative)<(?:(?:proto|wire)::)*(?:" + "|".join(types) + r")>")


PRODUCT = ("tree", "health", "ccs", "client-lib", "charmrun")
MAINS = ("charmrun/main.cpp", "examples", "tests/doubles", "tests/bench", "tests/unit/main.cpp")
BANS = (
    Ban("exit", call("(?:exit|quick_exit)(?!\\s*\\(\\s*\\))|(?:abort|terminate)(?=\\s*\\(\\s*\\))"), "return an error; only main may end the program", unless=MAINS),
    Ban("exit", call("_exit|_Exit"), "only a vforked child may _exit, and PMI_Abort", unless=MAINS + ("tree/io", "tests", "client-lib/pmi/pmi_job")),
    Ban("sleep", call("sleep|usleep|nanosleep|clock_nanosleep|(?:std::)?this_thread::sleep_\\w+"), "wait for an event with a deadline",
        unless=("tests/doubles", "tests/bench")),
    Ban("rand", call("rand|srand|rand_r|random|srandom|drand48"), "use tree/base/random.hpp, seeded by the caller"),
    Ban("rand", re.compile(r"std::(?:uniform_\w+|normal_distribution|mt19937\w*|default_random_engine|shuffle|sample)\b"),
        "differs between standard libraries: use tree/base/random.hpp"),
    Ban("rand", re.compile(r"\brandom_device\b"), "chance comes in as a seed", within=PURE),
    Ban("shell", call("system|popen"), "no shell: spawn with an argv"),
    Ban("clock", re.compile(r"_clock\s*::\s*now\s*\("), "only tree/io/clock.hpp reads the clock; take `now` as a parameter",
        unless=("tree/io/clock.hpp", "tests/doubles", "tests/bench")),
    Ban("clock", call("clock_gettime|gettimeofday|time"), "take `now` as a parameter",
        unless=("client-lib", "tests/doubles", "tests/bench", "examples")),
    Ban("print", call("printf|vprintf|fprintf|vfprintf|puts|putchar|fputs|perror|fmt::print"),
        "only the console and main print", within=PRODUCT, unless=("charmrun/main.cpp", "charmrun/told.cpp", "charmrun/machinery.hpp", "charmrun/view/console")),
    Ban("print", re.compile(r"std::(?:cout|cerr|clog|cin)\b"), "only the console and main print", within=PRODUCT,
        unless=("charmrun/main.cpp", "charmrun/view/console")),
    Ban("impure", call("fopen|freopen|fdopen|tmpfile"), "files are read and written by the caller", within=PURE),
    Ban("environment", call("getenv|secure_getenv|setenv|putenv|unsetenv"), "the environment comes in as data", within=PURE),
    Ban("unordered", re.compile(r"std::unordered_\w+"), "its order differs between libraries, runs would not replay: use std::map",
        within=REPLAYED),
    Ban("coroutine", re.compile(r"\bco_(?:await|return|yield)\b"), "coroutines live in tree/io only",
        unless=("tree/io", "tests/io")),
    Ban("coroutine", re.compile(r"\basio::detached\b|\.detach\s*\(\s*\)"), "nothing runs unwatched: use our spawn()"),
    Ban("type-test", asked_for(alternatives("tree/wire/messages.hpp", "CoreMessages") + alternatives("tree/turn/events.hpp", "CoreActions")),
        "dispatch() or handle_each(): one that nobody handles does not compile", within=PRODUCT, unless=("tree/wire/message",)),
    Ban("silent", re.compile(r"\bvirtual\s+void\s+\w+\([^;{}]*\{\s*\}"), "no empty default: an implementation that forgets it compiles; make it pure",
        within=("tree/io", "charmrun")),
    Ban("using-namespace", re.compile(r"\busing\s+namespace\s+(?![\w:]*_literals\b)"), "not in a header", headers_only=True),
)

# In any text file, comments included.
BANNED_WORDS = (
    ("todo", re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b"), "do it, or open an issue"),
)

# Folders whose files are compiled together (ct_unity): those of tree/io are one library, those of charmrun two.
UNITY = NODE + ("client-lib", "tree/io", "charmrun")
SERVICES = ("health", "ccs", "kvs", "kvs/fence", "kvs/ring", "stacks", "debug", "staging", "input")  # one library
# Folders of tests that are compiled together; what two of their files call the same is in two namespaces.
TESTED_TOGETHER = ("tests/unit", "tests/io")


def unity_of(folder):
    """The folder of UNITY whose files those of `folder` are compiled with; None: with no others."""
    if folder in SERVICES:
        return SERVICES[0]
    together = [f for f in UNITY if folder == f or (f in UNITY[-2:] and folder.startswith(f + "/"))]
    return together[0] if together else None


MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70
MAX_DATA_MEMBERS = 25
MAX_METHODS = 45
MAX_CLASS_FILES = 2  # .cpp files that define methods of one class

# Classes that may be over these limits until they are cut: file:name, and the data members, methods and .cpp files that they may have.
# Figures may shrink, not grow. There is none, and there should be none.
LARGE_CLASSES = {}


def under(path, prefixes):
    """True if `path` is one of `prefixes`, lies in it as a folder, or begins with it as the stem of a file name."""
    return any(not p or path == p or path.startswith(p + "/") or path.startswith(p + ".") or path.startswith(p + "_") for p in prefixes)


def layer_of(path):
    """The longest folder of LAYERS that holds `path`; None: it is in no layer."""
    folders = [f for f in LAYERS if path.startswith(f + "/")]
    return max(folders, key=len) if folders else None
