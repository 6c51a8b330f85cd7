"""Where functions are least, by SciPy's names; the places are those that MindSpore 2.7.0 finds."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from millrace import Tensor  # noqa: E402
from millrace.scipy import optimize  # noqa: E402


def himmelblau(p):
    x, y = p[0], p[1]
    return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2


@pytest.mark.parametrize("method", ["BFGS", "LBFGS"])
def test_the_least_of_himmelblaus_function(method):
    found = optimize.minimize(himmelblau, Tensor([1.0, 1.0]), method=method, options={"maxiter": 100})
    np.testing.assert_allclose(found.x.asnumpy(), [3.0, 2.0], atol=1e-5)
    assert found.success
    assert found.status == 0
    assert 5 < found.nit < 20


def test_a_bowl_is_found_in_one_step_with_mindspores_curvature():
    found = optimize.minimize(lambda x: ((x - 3) ** 2).sum(), Tensor([1.0, 2.0]), method="BFGS")
    assert (found.nfev, found.njev, found.nit) == (3, 3, 1)
    np.testing.assert_allclose(found.hess_inv.asnumpy(), [[0.6, -0.2], [-0.2, 0.9]], atol=1e-6)


def test_arguments_and_limits():
    found = optimize.minimize(
        lambda x, a: ((x - a) ** 4).sum(),
        Tensor([1.0, 2.0]),
        (Tensor([5.0, 6.0]),),
        method="BFGS",
        options={"maxiter": 2},
    )
    assert (found.success, found.status, found.nit) == (False, 1, 2)
    for wrong, words in (({"method": "foo"}, "Method foo not recognized"), ({}, "You must specify a solver")):
        with pytest.raises(ValueError, match=words):
            optimize.minimize(himmelblau, Tensor([1.0, 1.0]), **wrong)


def test_a_step_along_a_line():
    found = optimize.line_search(lambda x: (x * x).sum(), Tensor([1.0, 1.0]), Tensor([-1.0, -1.0]))
    assert (found.failed, found.nit, found.nfev, found.k, found.a_k, found.f_k) == (False, 1, 2, 2, 1.0, 0.0)
    up = optimize.line_search(lambda x: (x * x).sum(), Tensor([1.0]), Tensor([1.0]), maxiter=5)
    assert up.failed
