import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from howsure.errors import InputError
from howsure.stats.multiplicity import benjamini_hochberg, holm, step_down_max

P = [0.01, 0.04, 0.03, 0.005, 0.005, 0.8]


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize(("adjust", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_statsmodels_agrees(adjust, name):
    for p in (P, np.random.default_rng(0).random(40), [0.2], [1.0, 1.0], [0.0, 0.5]):
        assert adjust(p) == pytest.approx(multipletests(p, method=name)[1])


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
class TestInput:
    def test_none_stays_none(self, adjust):
        assert len(adjust([])) == 0

    def test_argument_stays_as_it_was(self, adjust):
        p = np.array(P)
        adjust(p)
        np.testing.assert_array_equal(p, P)

    @pytest.mark.parametrize(
        ("p", "text"), [([0.1, np.nan], "p: 1 of 2"), ([0.1, 1.2], "1.2 at position 1"), ([-0.1], "-0.1 at position 0")]
    )
    def test_what_is_no_p_value_is_refused(self, adjust, p, text):
        with pytest.raises(InputError, match=text):
            adjust(p)


def test_step_down_max_rejects_more_than_holm_where_tests_are_correlated():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((4000, 1))
    draws = 0.95 * common + np.sqrt(1 - 0.95**2) * rng.standard_normal((4000, 20))
    p = step_down_max(np.full(20, 2.4), draws)
    single = (np.abs(draws) >= 2.4).mean()
    assert (p < holm(np.full(20, single))).all()
    assert (p >= single - 0.005).all()


def test_step_down_max_of_one_test_is_its_own_p_value():
    draws = np.arange(-50, 50)[:, None] / 10
    assert step_down_max([4.9], draws) == pytest.approx([(1 + 3) / 101])
    assert step_down_max([-4.9], draws) == pytest.approx(step_down_max([4.9], draws))


def test_step_down_max_lets_rejected_tests_leave():
    draws = np.random.default_rng(1).standard_normal((5000, 2)) * [3.0, 1.0]
    alone, together = step_down_max([2.5], draws[:, 1:]), step_down_max([30.0, 2.5], draws)
    assert together[0] == pytest.approx(1 / 5001)
    # the rejected one stays in the other direction only
    assert alone[0] < together[1] < 0.3


def test_step_down_max_refuses_draws_of_another_shape():
    with pytest.raises(InputError, match="draws: shape"):
        step_down_max([1.0, 2.0], np.zeros((10, 3)))
