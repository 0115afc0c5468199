"""What runs inside the sandbox: standard library only, imported as the package ``inside``.

Nothing of ``mint_envs`` is importable where these files run. ``zygote`` starts, shuts itself in
(``confine``) and forks one child for each job; the child shuts itself in further (``seccomp``)
and runs the program (``runner``).
"""
