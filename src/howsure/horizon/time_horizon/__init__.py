"""How long the tasks are that a model completes, in an expert's minutes; and how fast that grows."""
