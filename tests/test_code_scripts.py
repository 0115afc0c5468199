"""A script finds what contests give it: its streams, its end, its stack, its class's own name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mint_envs.code import Sandbox
from mint_envs.errors import SandboxUnavailable
from mint_envs.sandbox import Job, Limits, shared
from mint_envs.sandbox.java import java_names
from mint_envs.sandbox.toolchains import TOOLCHAINS

#: Each prints 8, given 4: what ``python solution.py`` does.
SCRIPTS = {
    "exit": "print(2 * int(input()))\nexit()",
    "quit": "print(8)\nquit(0)",
    "help": "assert 'help' in repr(help) and 'exit' in repr(exit)\nprint(8)",
    "sys.exit in a function": "import sys\ndef main():\n    print(8)\n    sys.exit()\nmain()",
    "stdin by name": "print(2 * int(open('/dev/stdin').read()))",
    "stdin by path": "from pathlib import Path\nprint(2 * int(Path('/dev/stdin').read_text()))",
    "stdin by number": "print(2 * int(open(0).read()))",
    "stdin by os.open": "import os\nf = os.open('/dev/stdin', os.O_RDONLY)\n"
    "print(2 * int(os.read(f, 9)))",
    "stdout by name": "open('/dev/stdout', 'w').write('8\\n')",
    "a file that is never closed": "import os\nout = os.fdopen(1, 'w')\nout.write('8\\n')",
    "a buffer that is never flushed": "import io\nout = io.BufferedWriter(io.FileIO(1, 'w'))\n"
    "out.write(b'8\\n')",
    "a stream of its own class": "import io, os\nclass Fast(io.IOBase):\n    held = b''\n"
    "    def write(self, data): self.held += data\n"
    "    def flush(self):\n        os.write(1, self.held)\n        self.held = b''\n"
    "out = Fast()\nout.write(b'8\\n')",
    "an object at its end": "class A:\n    def __del__(self): print(8)\na = A()",
    "a generator at its end": "def g():\n    try:\n        yield 1\n    finally:\n"
    "        print(8)\nx = g()\nnext(x)",
    "the module of built-in names": "print(8 if 'input' in dir(__builtins__) else __builtins__)",
    "what atexit calls": "import atexit\natexit.register(print, 8)",
    "a thread that still prints": "import threading, time\ndef late():\n    time.sleep(0.05)\n"
    "    print(8)\nthreading.Thread(target=late).start()",
    "a thread with a stack of 256 MB": "import sys, threading\nsys.setrecursionlimit(10**6)\n"
    "threading.stack_size(1 << 28)\nfrom functools import lru_cache\n@lru_cache(None)\n"
    "def deep(n): return 0 if n == 0 else 1 + deep(n - 1)\n"
    "def run(): print(8 if deep(20000) else 1)\nthreading.Thread(target=run).start()",
    "deep recursion": "import sys\nsys.setrecursionlimit(10**6)\n"
    "from functools import lru_cache\n@lru_cache(None)\n"
    "def deep(n): return 0 if n == 0 else 1 + deep(n - 1)\nprint(8 if deep(30000) else 1)",
    "its own name": "import os\nassert open(__file__).read().startswith('import os')\nprint(8)",
    "__main__": "if __name__ == '__main__':\n    print(8)",
}
ZONE = (
    "from zoneinfo import ZoneInfo\nimport datetime\n"
    "there = datetime.datetime(2024, 1, 1, tzinfo=ZoneInfo('America/New_York'))\n"
    "print(8 if there.utcoffset() else 1)"
)
FAILS = {
    "exit with a code": "print(8)\nexit(1)",
    "exit with words": "print(8)\nexit('no')",
    "an error at the end": "print(8)\n1 / 0",
}
OTHERS = {
    ("cpp", "deep recursion"): "#include <iostream>\nint r(int n){volatile char b[64];b[0]=n;"
    "return n==0?0:1+r(n-1)+b[0]-b[0];}\nint main(){std::cout<<(r(900000)>0?8:1);}",
    ("cpp", "threads"): "#include <thread>\n#include <cstdio>\nint main(){int x[8];"
    "std::thread t[8];for(int i=0;i<8;i++)t[i]=std::thread([&x,i]{x[i]=1;});int s=0;"
    'for(int i=0;i<8;i++){t[i].join();s+=x[i];}std::printf("%d",s);}',
    ("cpp", "streams by name"): "#include <fstream>\nint main(){std::ifstream i(\"/dev/stdin\");"
    'std::ofstream o("/dev/stdout");int n;i>>n;o<<2*n;}',
    ("javascript", "streams by name"): "const fs=require('fs');const n=+fs.readFileSync("
    "'/dev/stdin','utf8');fs.writeFileSync('/dev/stdout',`${2*n}\\n`)",
    ("javascript", "deep recursion"): "function r(n){return n===0?0:1+r(n-1)}\n"
    "console.log(r(200000)>0?8:1)",
    ("java", "a class of any name"): "import java.util.*;\npublic class Foo { public static void "
    "main(String[] a){ System.out.println(2*new Scanner(System.in).nextInt()); } }",
    ("java", "a class that is not public"): "class Help { int x; }\nclass Solution { static class "
    "In {} public static void main(String[] a){ System.out.println(8); } }",
    ("java", "a thread with a stack of 256 MB"): "class Main implements Runnable { public void "
    "run(){ System.out.println(r(300000)>0?8:1);} static int r(int n){return n==0?0:1+r(n-1);} "
    "public static void main(String[] a) { new Thread(null,new Main(),\"\",1<<28).start(); } }",
}  # fmt: skip


def sandbox_of(tier: str) -> Sandbox:
    try:
        return Sandbox(tier, workers=2)
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_a_script_runs_as_python_runs_it(tier: str) -> None:
    programs = {**SCRIPTS, "a time zone": ZONE} if Path("/usr/share/zoneinfo").is_dir() else SCRIPTS
    with sandbox_of(tier) as sandbox:
        jobs = [Job(program, "main", stdin="4\n") for program in programs.values()]
        outcomes = dict(zip(programs, sandbox.run_jobs(jobs), strict=True))
    wrong = {
        name: (outcome.stdout, outcome.error(-1), outcome.failure)
        for name, outcome in outcomes.items()
        if outcome.stdout.strip() != b"8" or outcome.error(-1)[0] or outcome.exit_code
    }
    assert wrong == {}


@pytest.mark.parametrize("name", FAILS)
def test_a_script_that_ends_badly_has_an_error(name: str) -> None:
    assert shared(None).run(FAILS[name], stdin="").error(-1)[0]


def test_a_script_may_find_files_and_arguments() -> None:
    program = "import sys\nprint(open(sys.argv[1]).read() + sys.argv[2])"
    job = Job(program, "main", arguments=("in.txt", "b"), files=(("in.txt", "a"),))
    assert shared(None).run_jobs([job])[0].stdout == b"ab\n"
    assert shared(None).run("import sys\nprint(len(sys.argv))", stdin="").stdout == b"1\n"


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_a_function_may_write_where_it_stands(tier: str) -> None:
    program = "def f():\n    open('x.txt', 'w').write('8')\n    return open('x.txt').read()"
    with sandbox_of(tier) as sandbox:
        assert sandbox.run(program, ["f()"]).records[0] == ("value", "8")
        left = sandbox.run("import os\ndef f(): return os.listdir('.')", ["f()"])
        assert left.records[0] == ("value", ["l", []])


def test_nothing_of_a_script_is_there_for_the_next() -> None:
    with sandbox_of("namespaces") as sandbox:
        first = Job("open('x', 'w').write('1')\n__file__\nprint(8)", "main", files=(("y", ""),))
        look = "import os\nprint(sorted(os.listdir('.')))"
        assert sandbox.run_jobs([first])[0].stdout == b"8\n"
        assert sandbox.run(look, stdin="").stdout == b"[]\n"


@pytest.mark.parametrize(("language", "name"), OTHERS)
def test_other_languages_find_what_contests_give(language: str, name: str) -> None:
    if TOOLCHAINS[language].path() is None or shared(None).tier != "namespaces":
        pytest.skip(f"{language} does not run here")
    outcome = shared(None).run(
        OTHERS[language, name], stdin="4\n", language=language, limits=Limits(cpu_s=20.0)
    )
    assert (outcome.stdout.strip(), outcome.exit_code, outcome.failure) == (b"8", 0, "")


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_compiled_program_may_find_files_and_arguments() -> None:
    program = (
        '#include "two.h"\n#include <fstream>\n#include <iostream>\nint main(int, char** a) '
        "{ int n; std::ifstream(a[1]) >> n; std::cout << TWO * n; }"
    )
    files = (("two.h", "#define TWO 2\n"), ("in.txt", "4"))
    job = Job(program, "main", arguments=("in.txt",), files=files, language="cpp")
    if shared(None).tier != "namespaces":
        pytest.skip("other languages need namespaces")
    assert shared(None).run_jobs([job])[0].stdout == b"8"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("public class Foo { void main() {} }", ("Foo.java", "Foo")),
        ("class A {} class B { static void main(String[] a) {} }", ("Main.java", "B")),
        ("// public class No\nclass A { String s = \"public class No {\"; void main() {} }",
         ("Main.java", "A")),
        ("package a.b; public final class C { class D { } static void main() {} }",
         ("C.java", "a.b.C")),
        ("record P(int x) {} interface I {} enum E { X } class M { void main() {} }",
         ("Main.java", "M")),
        ("public class A { } class B { public static void main(String[] a) {} }",
         ("A.java", "B")),
        ("nonsense {{{", ("Main.java", "Main")),
    ],
)  # fmt: skip
def test_the_names_in_a_program_of_java(program: str, names: tuple[str, str]) -> None:
    assert java_names(program) == names
