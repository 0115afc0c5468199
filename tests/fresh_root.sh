#!/usr/bin/env bash
# The steps of the Dockerfile in a fresh Debian, where no container engine is: as root,
#   tests/fresh_root.sh FOLDER        # debootstrap makes it; one that is there is used
# Installs the package from wheels that are built outside, so that the new root needs no network. Then,
# as root and as a user: `mint-envs doctor`, a server that becomes ready, a reward of a sum and of a
# program, a session that outlives its server, and an end in good order. Ends with 1 if one of them fails.
set -euo pipefail
root=$(realpath -m "${1:?a folder for the new root}")
here=$(realpath "$(dirname "$0")/..")
[ -x "$root/usr/bin/python3" ] ||
  debootstrap --variant=minbase --include=python3,python3-venv bookworm "$root" "${MIRROR:-http://deb.debian.org/debian}"

if [ ! -x "$root/opt/mint/bin/mint-envs" ]; then
  mkdir -p "$root/wheels"
  python3 -m pip wheel --quiet --wheel-dir "$root/wheels" "$here[serve,math]"
  chroot "$root" python3 -m venv /opt/mint
  chroot "$root" /opt/mint/bin/pip install --quiet --no-index --find-links /wheels 'mint-envs[serve,math]'
fi
chroot "$root" id mint > /dev/null 2>&1 || chroot "$root" useradd --create-home mint
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
for name in null urandom; do [ -c "$root/dev/$name" ] || mount --bind "/dev/$name" "$root/dev/$name"; done

cat > "$root/opt/check.py" <<'PYTHON'
import os, signal, subprocess, sys, time
from mint_envs.client import Client

environment = {**os.environ, "MINT_SERVE_SESSION_KEY": "a-key-of-the-fresh-root"}
program = "def f(x):\n    return x + 1"


def serve(*more):
    command = ["/opt/mint/bin/mint-envs", "serve", "--port", sys.argv[1], *more]
    return subprocess.Popen(command, env=environment)


with Client(f"http://127.0.0.1:{sys.argv[1]}", patience_s=120) as client:
    first = serve()
    session = client.session("mint/ToolUse-v0", seed=1)
    (score,) = client.grade("math", [{"gold": "1/2", "response": "0.5"}])
    assert score.score == 1.0, score
    (score,) = client.grade("code", [{"response": program, "tests": [["f(1)", 2]]}])
    assert score.score == 1.0, score
    first.kill()
    first.wait()
    second = serve("--processes", "2")
    assert session.respond("Answer: 7") is not None
    second.terminate()
    assert second.wait(60) in (0, -signal.SIGTERM), second.returncode
print("all well, as", os.environ.get("USER", "?"))
PYTHON

port=18421
for user in root mint; do
  run=(chroot --userspec="$user" "$root" env -i USER="$user" HOME="/tmp" PATH=/opt/mint/bin:/usr/bin:/bin)
  "${run[@]}" mint-envs doctor || echo "doctor ended with $?"
  "${run[@]}" python /opt/check.py "$port"
  port=$((port + 1))
done
