"""One file per command of ``mint-envs``; each holds a click command named ``command``."""
