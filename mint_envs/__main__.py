"""``python -m mint_envs`` is the command ``mint-envs``."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="mint-envs")
