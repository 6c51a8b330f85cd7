"""The tests of Millrace. A package, so that worker processes can import a test module by its name."""
