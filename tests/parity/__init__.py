"""Parity with MindSpore 2.7.0: the same lines of code run under both, and give the same.

cases/      what is run: a name and a few lines each
record.py   runs the cases under real MindSpore and writes goldens/ (not needed to run the tests)
test_parity.py   runs them under Millrace and compares with goldens/
"""
