"""Text formats: lines, JSON Lines, SQuAD, IWSLT and plain text files."""
