"""Examples of the results of claims."""

import functools

from howsure.claims import Claim, ClaimCheck, Verification, certificate, check, verify
from howsure.claims.simulator import ClaimErrors, claim_errors, simulate_runs

from .registry import example

CLAIMS = [Claim(kind="horizon", model="model", at_least=20)]


@functools.cache
def runs():
    return simulate_runs("limits", n_families=8, n_tasks=2, n_runs=3)


@example(ClaimCheck)
@functools.cache
def checked():
    return check(CLAIMS, runs(), n_replicates=20, most=12)


@example(Verification)
def verified():
    return verify(certificate(checked(), runs()), runs())


@example(ClaimErrors)
def errors():
    return claim_errors(2, n_replicates=20)
