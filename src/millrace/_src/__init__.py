"""Implementation of Millrace. Users import the public modules beside this package."""
