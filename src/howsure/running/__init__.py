"""Asking models through Inspect, the same for every instrument: how a model is asked, which logs and kept replies are a run's, what a reply cost, and why one failed.

`runs` has what a verb needs to start, resume and read a run, `replies` the store of replies of long conversations, and `http_provider` our own client for
servers that speak OpenAI's protocol (``openai-http/SERVICE/MODEL``).
"""

from howsure.running.runs import (
    MANNER,
    Asking,
    BudgetSpentError,
    Failure,
    Gate,
    GivenUpError,
    InspectRun,
    Prices,
    RunBudget,
    Tokens,
    digest,
    error_counts,
    failure_of,
    keep_reply,
    locked,
    plain_errors,
    read_logs,
)

__all__ = [
    "MANNER",
    "Asking",
    "BudgetSpentError",
    "Failure",
    "Gate",
    "GivenUpError",
    "InspectRun",
    "Prices",
    "RunBudget",
    "Tokens",
    "digest",
    "error_counts",
    "failure_of",
    "keep_reply",
    "locked",
    "plain_errors",
    "read_logs",
]
