from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Better, Rule

SPECTRA = "spec spec64 specs specs4 stereo mono empty2 scalar silence text"

CASES = [
    *each(
        """
        A.ComplexNorm()
        A.ComplexNorm(2.0)
        A.ComplexNorm(0)
        A.ComplexNorm(0.7)
        A.ComplexNorm(3)
        A.Angle()
        A.Magphase()
        A.Magphase(2)
        A.Magphase(0.5)
        """,
        "complex complex64 complexes pair pairs_int two mono spec scalar empty text real_complex",
    ),
    *each(
        """
        A.AmplitudeToDB()
        A.AmplitudeToDB(A.ScaleType.MAGNITUDE)
        A.AmplitudeToDB(A.ScaleType.POWER, 0.3, 0.2, 10)
        A.AmplitudeToDB(A.ScaleType.MAGNITUDE, 2.0, 0.1, 5.5)
        A.AmplitudeToDB(A.ScaleType.MAGNITUDE, 1e-3, 0.1)
        A.AmplitudeToDB(top_db=3)
        A.ComputeDeltas()
        A.ComputeDeltas(3)
        A.ComputeDeltas(4)
        A.ComputeDeltas(9, A.BorderType.CONSTANT)
        A.ComputeDeltas(9, A.BorderType.REFLECT)
        A.ComputeDeltas(9, A.BorderType.SYMMETRIC)
        A.ComputeDeltas(21, A.BorderType.EDGE)
        """,
        SPECTRA + " int16 pairs_int column",
    ),
    *each(
        """
        A.DBToAmplitude(1.0, 1.0)
        A.DBToAmplitude(2.0, 0.5)
        A.DBToAmplitude(-0.5, -1)
        A.DBToAmplitude(0, 0)
        """,
        "mono mono64 mono16 spec specs4 loud nan inf minus_inf int16 int64 bool scalar empty text",
    ),
    *each("A.AmplitudeToDB()\nA.ComputeDeltas()", "nan2 inf2"),
    *each(
        """
        A.ComplexNorm("a")
        A.ComplexNorm(-1)
        A.ComplexNorm(1e10)
        A.Magphase("a")
        A.Magphase(-1)
        A.Magphase(None)
        A.AmplitudeToDB("power")
        A.AmplitudeToDB(ref_value="a")
        A.AmplitudeToDB(ref_value=0)
        A.AmplitudeToDB(ref_value=None)
        A.AmplitudeToDB(amin=-1)
        A.AmplitudeToDB(amin="a")
        A.AmplitudeToDB(top_db=0)
        A.AmplitudeToDB(top_db="a")
        A.AmplitudeToDB(top_db=1e9)
        A.ComputeDeltas(2)
        A.ComputeDeltas("a")
        A.ComputeDeltas(5.0)
        A.ComputeDeltas(5, "edge")
        A.ComputeDeltas(2**31)
        A.DBToAmplitude("a", 1)
        A.DBToAmplitude(1, "a")
        A.DBToAmplitude(1e10, 1)
        A.DBToAmplitude(1, -1e10)
        A.DBToAmplitude(1, None)
        """,
        "-",
    ),
]

RULES: list[Rule] = [
    Better(
        r"A\.AmplitudeToDB\(A\.ScaleType\.\w+, [\d.e-]+, 0\.[12].*\)\((?!mono|empty2|scalar|silence|text)",
        "amin bounds the values; MindSpore takes amin only for the reference, and 1e-10 for the values",
    ),
    Better(r"REFLECT\)\(column\)$", "one value reflects to itself; MindSpore never ends"),
    Better(
        r"\(real_complex\)$",
        "the words of a wrong shape or type, not all the values",
        raises="Expecting tensor in",
    ),
]
