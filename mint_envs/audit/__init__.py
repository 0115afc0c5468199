"""``mint-envs audit``: what is wrong with the problems of a data set."""
