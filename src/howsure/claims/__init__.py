"""Claims: which conclusions hold under every defensible analysis, and certificates that can be verified.

::

    claim_files     claims as YAML and as objects: `Claim`, `read_claims`
    inputs          the tables that claims need, from inputs of several kinds
    kinds           how each kind of claim is computed, and its tipping points
    multiverse      all specifications together: status, effects, interactions, verdict
    checking        `check`, which returns a `ClaimCheck`
    certificates    `plan`, `certificate`, `verify`
    simulator       simulated data in which one choice matters: `claim_errors`
"""

from typing import TYPE_CHECKING

from howsure._lazy import lazily

if TYPE_CHECKING:
    from howsure.claims.certificates import Verification as Verification
    from howsure.claims.certificates import certificate as certificate
    from howsure.claims.certificates import plan as plan
    from howsure.claims.certificates import verify as verify
    from howsure.claims.checking import ClaimCheck as ClaimCheck
    from howsure.claims.checking import check as check
    from howsure.claims.claim_files import Claim as Claim
    from howsure.claims.claim_files import read_claims as read_claims
    from howsure.claims.simulator import ClaimErrors as ClaimErrors
    from howsure.claims.simulator import claim_errors

    coverage = claim_errors

_HOMES = {
    "Claim": "claim_files",
    "ClaimCheck": "checking",
    "ClaimErrors": "simulator",
    "Verification": "certificates",
    "certificate": "certificates",
    "check": "checking",
    "coverage": "simulator:claim_errors",
    "plan": "certificates",
    "read_claims": "claim_files",
    "verify": "certificates",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__ = lazily(__name__, _HOMES)
