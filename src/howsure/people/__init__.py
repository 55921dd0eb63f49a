"""Pages that show items to people and record what they answer: one HTML file each, offline, blind, keyboard and all.

Make `Page`\\ s (one a rater), `build_page` them, `save` them into a folder. Mail the files, or let ``howsure serve`` hand them out
and receive the answers. `read_results` checks what comes back; scoring it is for the instrument that made the pages.
"""

from howsure.people.blinding import new_salt, opaque_id
from howsure.people.build import BuiltPage, build_page, read_page, read_pages
from howsure.people.packet import write_private
from howsure.people.protocol import (
    Choice,
    Consent,
    Game,
    Item,
    Number,
    Option,
    Page,
    Passage,
    Quiz,
    Reading,
    Scale,
    Step,
    Text,
)
from howsure.people.records import Result
from howsure.people.results import Collected, Received, Refusal, answer_rows, quality_signs, read_results, step_rows
from howsure.people.strict_json import canonical, digest

__all__ = [
    "BuiltPage",
    "Choice",
    "Collected",
    "Consent",
    "Game",
    "Item",
    "Number",
    "Option",
    "Page",
    "Passage",
    "Quiz",
    "Reading",
    "Received",
    "Refusal",
    "Result",
    "Scale",
    "Step",
    "Text",
    "answer_rows",
    "build_page",
    "canonical",
    "digest",
    "new_salt",
    "opaque_id",
    "quality_signs",
    "read_page",
    "read_pages",
    "read_results",
    "step_rows",
    "write_private",
]
