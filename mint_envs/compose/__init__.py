"""Tasks and environments made of others: wrappers and mixtures.

``mint_envs.wrappers`` is the door to the wrappers.
"""
