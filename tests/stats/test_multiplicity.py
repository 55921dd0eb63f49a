import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from howsure.errors import InputError
from howsure.stats.multiplicity import benjamini_hochberg, holm

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
