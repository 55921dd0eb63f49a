"""What every analysis returns.

::

    base       `Result`: tables, charts, JSON, saving and loading, a short repr and a table in notebooks; `Provenance`: input, settings, seed, version
    storage    one file per result, from which an equal object is loaded
    blocks     texts, tables and charts that describe a result, for the terminal and the report
    choices    the defensible options of an analysis, declared beside it
    leading    sentences about who has the highest estimate
    schemas    the published JSON schema of each result
"""

from howsure.results.base import Provenance, Result, columns_of, end_states, plain, write_json

__all__ = ["Provenance", "Result", "columns_of", "end_states", "plain", "write_json"]
