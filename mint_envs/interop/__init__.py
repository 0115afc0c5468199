"""Our environments in other people's trainers: one small file for each library.

    from mint_envs.interop import trl

    rows = trl.rows("mint/Code-v0", 512, style="chat")
    trainer = GRPOTrainer(..., train_dataset=Dataset.from_list(rows),
                          reward_funcs=trl.reward_func("mint/Code-v0", style="chat"))

Every file is built from the two shapes in ``shapes``: text in, verdict out; and tokens in, tokens
out. None imports its library before it is used. A problem travels by its index (``task_index``),
so every copy of a prompt, in any process, has the same problem; a reward that could not be
measured becomes what the library takes for "leave this sample out", and never 0.
"""
