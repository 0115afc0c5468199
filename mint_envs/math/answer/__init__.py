"""An answer: from its text to a tree, and from two trees to a verdict."""
