"""What every analysis returns.

base          `Result`: tables, charts, JSON, saving and loading, a short repr and a table in notebooks
storage       one file per result, from which an equal object is loaded
provenance    which input, settings, seed and version made it; values as JSON
"""

from howsure.results.base import Result
from howsure.results.provenance import Provenance, columns_of, plain, write_json

__all__ = ["Provenance", "Result", "columns_of", "plain", "write_json"]
