"""What is shown: reports of ``bench`` and ``audit``, and rollouts, in a terminal or on a page."""
