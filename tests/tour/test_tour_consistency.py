"""No sentence of the tour's report contradicts a table of it."""

from consistency import contradictions
from howsure.reporting import Text


def test_no_sentence_of_the_tour_contradicts_its_tables(tour):
    assert contradictions(tour.report) == []


def test_the_front_page_uses_the_words_of_a_textbook(tour):
    told = [text for section in tour.report.sections for text in (*section.found, *section.unknown)]
    front = "\n".join([*told, *(block.text for block in tour.report.summary if isinstance(block, Text))])
    for word in ("leads with", "hold the truth", "told from none", "reaches to both sides", "planted", "Correct turns"):
        assert word not in front
    assert "has the highest estimate" in front
    assert "are statistically significant (Holm-corrected, 10%)" in front
