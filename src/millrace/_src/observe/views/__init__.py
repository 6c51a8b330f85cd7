"""Views of a run: table, terminal, plain text, HTML page."""
