"""How a run is shown: as text, as a page, and live in the terminal. It reads counters and changes nothing."""
