"""Files of lines: text and JSON."""
