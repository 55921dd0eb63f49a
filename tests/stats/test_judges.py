import numpy as np
import pytest
import scipy.stats

from howsure.errors import InputError, OptionError
from howsure.stats.judges import alternative_annotator_test, equal_terms

GAP = np.nan


def draw(rng, n, k, judge_noise, *, missing=0.0):
    """A judge and k people who see the same n items, people with noise 1."""
    item = rng.normal(size=n)
    people = item[:, None] + rng.normal(size=(n, k))
    people[rng.random((n, k)) < missing] = np.nan
    return item + judge_noise * rng.normal(size=n), people


def plain_test(judge, people, score, epsilon):
    """The alternative-annotator test item by item, as its paper tells it: winning rate, advantage, p-values."""
    p_values, advantages = [], []
    for left_out in range(people.shape[1]):
        judge_wins, rater_wins = [], []
        for verdict, row in zip(judge, people, strict=True):
            others = [x for rater, x in enumerate(row) if rater != left_out and not np.isnan(x)]
            if np.isnan(row[left_out]) or not others:
                continue
            ours, theirs = score(verdict, others), score(row[left_out], others)
            judge_wins.append(ours >= theirs)
            rater_wins.append(theirs >= ours)
        if len(judge_wins) >= 30:
            behind = np.array(rater_wins, int) - np.array(judge_wins, int)
            p_values.append(scipy.stats.ttest_1samp(behind, epsilon, alternative="less").pvalue)
            advantages.append(np.mean(judge_wins))
    rejected = scipy.stats.false_discovery_control(p_values, method="by") <= 0.05
    return rejected.mean(), np.mean(advantages), p_values


@pytest.mark.parametrize(
    ("measure", "score"),
    [
        ("match", lambda one, others: np.mean([one == other for other in others])),
        ("closeness", lambda one, others: -np.sqrt(np.mean([(one - other) ** 2 for other in others]))),
    ],
)
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_alternative_annotator_by_its_definition(measure, score, missing):
    rng = np.random.default_rng(0)
    for noise in (0.3, 1.0, 3.0):
        judge, people = (np.round(one) for one in draw(rng, 70, 4, noise, missing=missing))
        winning_rate, advantage, p_values = plain_test(judge, people, score, 0.15)
        found = alternative_annotator_test(judge, people, measure, epsilon=0.15)
        assert (found.winning_rate.value, found.advantage.value) == pytest.approx((winning_rate, advantage))
        assert [one.p for one in found.by_rater] == pytest.approx(p_values)
        assert found.may_replace == (winning_rate >= 0.5)


def test_a_good_judge_may_replace_people_and_a_random_one_not():
    rng = np.random.default_rng(1)
    good, random = (alternative_annotator_test(*draw(rng, 100, 4, noise)) for noise in (0.1, 10.0))
    assert (good.may_replace, good.winning_rate.value) == (True, 1.0)
    assert (random.may_replace, random.winning_rate.value) == (False, 0.0)
    assert good.advantage.low > 0.5 > random.advantage.high
    assert all(one.p <= one.p_adjusted and one.is_beaten and one.n_items == 100 for one in good.by_rater)


def test_people_as_a_judge_are_rarely_found_better():
    """With ε = 0 a further person beats another in at most 5 % of the tests, and the advantage is even."""
    rng = np.random.default_rng(2)
    found = [alternative_annotator_test(*draw(rng, 60, 3, 1.0), epsilon=0.0) for _ in range(200)]
    assert np.mean([one.may_replace for one in found]) < 0.05
    assert np.mean([one.advantage.value for one in found]) == pytest.approx(0.5, abs=0.02)
    assert 0.92 < np.mean([one.advantage.covers(0.5) for one in found]) < 0.99


def test_too_few_items_or_raters_say_why_not():
    rng = np.random.default_rng(3)
    for n, k, text in ((29, 4, "29 items, 0 raters"), (60, 2, "60 items, 2 raters")):
        found = alternative_annotator_test(*draw(rng, n, k, 0.5))
        assert (found.winning_rate.state, found.may_replace, found.by_rater) == ("too_few", None, ())
        assert text in found.advantage.reason
        assert "3 such raters are needed" in found.advantage.reason


def test_raters_with_few_items_are_left_out_but_still_compared_with():
    judge, people = draw(np.random.default_rng(4), 50, 4, 0.5)
    people[20:, 3] = np.nan
    found = alternative_annotator_test(judge, people)
    assert [one.rater for one in found.by_rater] == [0, 1, 2]
    assert found != alternative_annotator_test(judge, people[:, :3])


def test_a_judge_who_always_wins():
    people = np.tile([0.0, 2.0, 4.0], (30, 1))
    found = alternative_annotator_test(np.full(30, 2.0), people)
    assert [one.p for one in found.by_rater] == [0.0, 0.0, 0.0]
    # the middle rater says the same as the judge: a tie, and so no worse by ε
    assert found.winning_rate.value == 1.0
    without_allowance = alternative_annotator_test(np.full(30, 2.0), people, epsilon=0.0)
    assert [one.p for one in without_allowance.by_rater] == [0.0, 1.0, 0.0]


def test_summeval_judges(summeval):
    """GPT-4o's closeness on coherence beats the experts, on fluency it does not; it never correlates as well as they do."""
    assert alternative_annotator_test(summeval["coherence"].judge, summeval["coherence"].people).may_replace is True
    assert alternative_annotator_test(summeval["fluency"].judge, summeval["fluency"].people).may_replace is False
    for table in summeval.values():
        found = equal_terms(table.judge, table.people)
        assert found.difference.high < 0
        assert found.people.value > found.judge.value


def test_equal_terms_by_hand():
    judge, people = draw(np.random.default_rng(5), 12, 3, 0.5)
    found = equal_terms(judge, people)
    rest = [people[:, [1, 2]].mean(axis=1), people[:, [0, 2]].mean(axis=1), people[:, [0, 1]].mean(axis=1)]
    by_judge = [np.corrcoef(judge, one)[0, 1] for one in rest]
    by_rater = [np.corrcoef(people[:, rater], one)[0, 1] for rater, one in enumerate(rest)]
    assert [one[1] for one in found.by_rater] == pytest.approx(by_judge)
    assert [one[2] for one in found.by_rater] == pytest.approx(by_rater)
    assert found.judge.value == pytest.approx(np.mean(by_judge))
    assert found.difference.value == pytest.approx(np.mean(by_judge) - np.mean(by_rater))
    left_out = [
        equal_terms(np.delete(judge, item), np.delete(people, item, axis=0)).difference.value for item in range(12)
    ]
    reach = scipy.stats.t.ppf(0.975, 11) * np.sqrt(11 / 12 * ((left_out - np.mean(left_out)) ** 2).sum())
    assert found.difference.width / 2 == pytest.approx(reach)


def test_matches_by_hand():
    # rater 0 agrees with half of the others' ratings, the judge with three of four …
    people = [[1, 1, 2], [1, 1, 1], [2, 2, 2], [1, 2, 2], [3, 3, 3]]
    judge = [1, 1, 2, 2, 1]
    found = equal_terms(judge, people, "match")
    by_judge = [(0.5 + 1 + 1 + 1 + 0) / 5, (0.5 + 1 + 1 + 0.5 + 0) / 5, (1 + 1 + 1 + 0.5 + 0) / 5]
    by_rater = [(0.5 + 1 + 1 + 0 + 1) / 5, (0.5 + 1 + 1 + 0.5 + 1) / 5, (0 + 1 + 1 + 0.5 + 1) / 5]
    assert found.by_rater == tuple(
        (rater, pytest.approx(a), pytest.approx(b)) for rater, (a, b) in enumerate(zip(by_judge, by_rater, strict=True))
    )


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall", "match"])
def test_a_judge_like_people_does_not_differ_from_them(kind):
    rng = np.random.default_rng(6)
    found = [equal_terms(*map(np.round, draw(rng, 20, 3, 1.0)), kind) for _ in range(25)]
    assert np.mean([one.difference.value for one in found]) == pytest.approx(0, abs=0.08)
    assert np.mean([one.difference.covers(0.0) for one in found]) >= 0.84


def test_equal_terms_do_not_flatter_the_judge():
    """Against the mean of all raters a further person seems better than each rater against the rest."""
    rng = np.random.default_rng(7)
    judge, people = draw(rng, 5000, 3, 1.0)
    flattered = np.corrcoef(judge, people.mean(axis=1))[0, 1]
    found = equal_terms(judge, people)
    assert flattered > found.people.high
    assert found.difference.covers(0.0)


@pytest.mark.evidence
def test_equal_terms_intervals_hold():
    rng = np.random.default_rng(8)
    truth = equal_terms(*draw(rng, 50_000, 4, 1.3))
    for n in (8, 15, 30):
        found = [equal_terms(*draw(rng, n, 4, 1.3)) for _ in range(150)]
        for name in ("judge", "people", "difference"):
            share = np.mean([getattr(one, name).covers(getattr(truth, name).value) for one in found])
            assert 0.88 < share < 0.99


def test_states():
    rng = np.random.default_rng(9)
    assert equal_terms(*draw(rng, 4, 3, 1.0)).judge.state == "too_few"
    assert equal_terms(*draw(rng, 20, 1, 1.0)).difference.state == "too_few"
    assert equal_terms(np.ones(6), np.ones((6, 3))).people.state == "undefined"
    judge, people = np.zeros(8), rng.normal(size=(8, 3))
    judge[0] = 1.0
    # without item 0 the judge never varies
    assert equal_terms(judge, people).judge.low_state == "undefined"
    agreed = np.tile(np.arange(6.0)[:, None], 3)
    perfect = equal_terms(agreed[:, 0], agreed, "match")
    assert (perfect.judge.value, perfect.judge.low, perfect.difference.value) == (1.0, None, 0.0)


def test_items_without_a_verdict_or_ratings_are_left_out():
    judge, people = draw(np.random.default_rng(10), 12, 3, 0.5)
    expected = equal_terms(judge[2:], people[2:])
    judge[0], people[1] = GAP, GAP
    assert equal_terms(judge, people) == expected
    assert expected.n_items == 10


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: equal_terms([1, 2], [[1, 2]]), InputError, "2 values of the judge, 1 items"),
        (lambda: equal_terms([np.inf], [[1, 2]]), InputError, "infinity at position 0"),
        (lambda: equal_terms([1], [[1, 2]], "agree"), OptionError, "measure called 'agree'"),
        (lambda: alternative_annotator_test([1], [[1, 2]], "distance"), OptionError, "measure called 'distance'"),
    ],
)
def test_wrong_calls_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
