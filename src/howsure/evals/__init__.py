"""Any eval: means, differences and power with honest intervals, from the attempts that a harness logged."""
