"""Pages that show items to people and record what they answer: one HTML file each, offline, blind, keyboard and all.

Make `Page`\\ s (one per rater), `build_page` them, `save` them into a folder. Mail the files, or let ``howsure serve`` hand them out
and receive the answers. `read_results` checks what comes back; scoring it is for the instrument that made the pages.
"""

from howsure.people.blinding import new_salt, opaque_id
from howsure.people.build import BuiltPage, build_page, read_page, read_pages
from howsure.people.packet import write_private
from howsure.people.questions import (
    ChoiceQuestion,
    LabelsQuestion,
    NumberQuestion,
    Option,
    RankingQuestion,
    ScaleQuestion,
    SliderQuestion,
    SpansQuestion,
    TextQuestion,
)
from howsure.people.records import FinishedAnswers
from howsure.people.results import (
    CollectedAnswers,
    Received,
    Refusal,
    answer_rows,
    quality_signs,
    read_results,
    step_rows,
)
from howsure.people.screens import Consent, GameScreen, Item, Page, Passage, QuizScreen, ReadingScreen, Step, Turn
from howsure.people.strict_json import canonical, digest

__all__ = [
    "BuiltPage",
    "ChoiceQuestion",
    "CollectedAnswers",
    "Consent",
    "FinishedAnswers",
    "GameScreen",
    "Item",
    "LabelsQuestion",
    "NumberQuestion",
    "Option",
    "Page",
    "Passage",
    "QuizScreen",
    "RankingQuestion",
    "ReadingScreen",
    "Received",
    "Refusal",
    "ScaleQuestion",
    "SliderQuestion",
    "SpansQuestion",
    "Step",
    "TextQuestion",
    "Turn",
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
