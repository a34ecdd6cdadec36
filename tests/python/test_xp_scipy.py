"""Functions of SciPy and scikit-learn that dispatch on the Array API standard, on arrays of the daemon: the results stay there.

They are skipped without SciPy 1.16 and scikit-learn 1.7 or newer. SciPy reads SCIPY_ARRAY_API when it is imported, so that each is
a program of its own.
"""

import subprocess
import sys

import pytest
from conftest import PATIENCE

HEAD = """
import numpy as np, hotplate as hp, hotplate.xp as xp
a = np.random.default_rng(7).random((50, 4))
x = xp.asarray(a)
def same(got, expected):
    assert isinstance(got, hp.Array), type(got)
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-9, atol=1e-12)
"""

SCIPY = {
    "zscore": "from scipy.stats import zscore; same(zscore(x), zscore(a))",
    "kurtosis": "from scipy.stats import kurtosis; same(kurtosis(x, axis=0), kurtosis(a, axis=0))",
    "logsumexp": "from scipy.special import logsumexp; same(logsumexp(x, axis=1), logsumexp(a, axis=1))",
    "detrend": "from scipy.signal import detrend; same(detrend(x, axis=0), detrend(a, axis=0))",
    "trapezoid": "from scipy.integrate import trapezoid; same(trapezoid(x, axis=0), trapezoid(a, axis=0))",
    "pearsonr": "from scipy.stats import pearsonr; same(pearsonr(x[:, 0], x[:, 1]).statistic, pearsonr(a[:, 0], a[:, 1]).statistic)",
}
SCIKIT = {
    "StandardScaler": "from sklearn.preprocessing import StandardScaler; same(StandardScaler().fit_transform(x), (a - a.mean(0)) / a.std(0))",
    "cosine_similarity": "from sklearn.metrics.pairwise import cosine_similarity as f; same(f(x), f(a))",
    "r2_score": "from sklearn.metrics import r2_score as f; assert abs(f(x[:, 0], x[:, 1]) - f(a[:, 0], a[:, 1])) < 1e-12",
    "PCA": "from sklearn.decomposition import PCA; f = lambda v: PCA(2, svd_solver='full').fit(v).singular_values_; same(f(x), f(a))",
}


def run(daemon, program):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=PATIENCE,
                          env=daemon.environment | {"SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"}, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(daemon, name):
    pytest.importorskip("scipy", minversion="1.16", reason="no SciPy 1.16")
    run(daemon, HEAD + SCIPY[name])


@pytest.mark.parametrize("name", SCIKIT)
def test_scikit_learn(daemon, name):
    pytest.importorskip("scipy", minversion="1.16", reason="no SciPy 1.16")
    pytest.importorskip("sklearn", minversion="1.7", reason="no scikit-learn 1.7")
    run(daemon, HEAD + f"from sklearn import config_context\nwith config_context(array_api_dispatch=True):\n    {SCIKIT[name]}")
